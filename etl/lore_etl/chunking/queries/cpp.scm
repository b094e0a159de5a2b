;; language: C++
;; files: .h .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .inl .tpp .cu .cuh .ino
;; grammar: tree_sitter_cpp.language
;; family: c

(preproc_include) @import
(comment) @doc

(namespace_definition name: (_) @name) @scope
(type_definition type: (struct_specifier name: (_) @name body: (_)) @struct declarator: (type_identifier) @name)
(type_definition type: (struct_specifier body: (_)) @struct declarator: (type_identifier) @name)
(type_definition type: (enum_specifier body: (_)) @enum declarator: (type_identifier) @name)
(template_declaration (class_specifier name: (_) @name body: (_)) @class) @start
(template_declaration (struct_specifier name: (_) @name body: (_)) @struct) @start
(class_specifier name: (_) @name body: (_)) @class
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)

(template_declaration (function_definition declarator: (function_declarator declarator: (_) @name)) @function) @start
(template_declaration (function_definition declarator: (_ (function_declarator declarator: (_) @name))) @function) @start
(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (_ (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (_ (_ (function_declarator declarator: (_) @name)))) @function
(type_definition type: [(type_identifier) (primitive_type) (sized_type_specifier)] declarator: (_) @name) @type
(type_definition type: (struct_specifier !body) declarator: (_) @name) @type
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(preproc_function_def name: (_) @name) @macro

(preproc_def name: (_) @name) @variable
(enumerator name: (_) @name) @variable
(field_declaration declarator: (field_identifier) @name) @variable
(field_declaration declarator: (_ (field_identifier) @name)) @variable
(field_declaration declarator: (function_declarator declarator: (_) @name)) @variable
(field_declaration declarator: (_ (function_declarator declarator: (_) @name))) @variable
(declaration declarator: (identifier) @name) @variable
(declaration declarator: (init_declarator declarator: (identifier) @name)) @variable
(declaration declarator: (init_declarator declarator: (_ declarator: (identifier) @name))) @variable
(declaration declarator: (function_declarator declarator: (_) @name)) @variable
(declaration declarator: (_ (function_declarator declarator: (_) @name))) @variable
