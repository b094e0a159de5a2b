;; language: C
;; files: .c
;; grammar: tree_sitter_c.language
;; family: c

(preproc_include) @import
(comment) @doc

(type_definition type: (struct_specifier name: (_) @name body: (_)) @struct declarator: (type_identifier) @name)
(type_definition type: (struct_specifier body: (_)) @struct declarator: (type_identifier) @name)
(type_definition type: (union_specifier body: (_)) @struct declarator: (type_identifier) @name)
(type_definition type: (enum_specifier body: (_)) @enum declarator: (type_identifier) @name)
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition type: [(type_identifier) (primitive_type) (sized_type_specifier)] declarator: (_) @name) @type
(type_definition type: (struct_specifier !body) declarator: (_) @name) @type

(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (_ declarator: (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (_ declarator: (_ declarator: (function_declarator declarator: (_) @name)))) @function
(preproc_function_def name: (_) @name) @macro

(preproc_def name: (_) @name) @variable
(enumerator name: (_) @name) @variable
(field_declaration declarator: (field_identifier) @name) @variable
(field_declaration declarator: (_ declarator: (field_identifier) @name)) @variable
(field_declaration declarator: (_ (_ (field_identifier) @name))) @variable
(field_declaration declarator: (_ (_ (_ (field_identifier) @name)))) @variable
(field_declaration declarator: (_ (_ (_ (_ (field_identifier) @name))))) @variable
(declaration declarator: (identifier) @name) @variable
(declaration declarator: (init_declarator declarator: (identifier) @name)) @variable
(declaration declarator: (init_declarator declarator: (_ declarator: (identifier) @name))) @variable
(declaration declarator: (function_declarator declarator: (identifier) @name)) @variable
(declaration declarator: (_ declarator: (function_declarator declarator: (identifier) @name))) @variable

;; uses
(type_identifier) @use
(call_expression function: (identifier) @use)
