;; language: C++
;; files: .h .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .inl .tpp .cu .cuh .ino
;; grammar: tree_sitter_cpp.language
;; family: c
;; unknown: (?<=\bclass )(?:\w{1,99}(?:\([^()\n]{0,99}\))?\s{1,9}){1,3}(?=(?!final\b)\w[\w:]{0,99}(?:<[^{};\n]{0,99}>)?\s{0,9}(?:final\s{0,9})?(?:[;{]|:[^:]))
;; unknown: (?<=\bstruct )(?:(?=\w{0,60}?[A-Z]{2})\w{1,99}(?:\([^()\n]{0,99}\))?\s{1,9}){1,3}(?=(?!final\b)\w[\w:]{0,99}(?:<[^{};\n]{0,99}>)?\s{0,9}(?:final\s{0,9})?(?:\{|:[^:]))
;; unknown: (?<!define )(?<!undef )\b[A-Z][A-Z0-9_]{0,60}_(?:EXPORT|API)\b(?=\s{1,9}[\w:~])
;; unknown: \b[A-Z][A-Z0-9_]{0,60}(?:OVERRIDE|NOEXCEPT|FINAL)\b(?=\s{0,9}[;{=])
;; unknown: ^[ \t]*(?:wx)?[A-Z][A-Z0-9_]{2,60}\((?:[^()\n]|\([^()\n]*\)){0,200}\)[ \t]*$(?=\n\s{0,80}[\w}~#/])
;; unknown: ^[ \t]*[A-Z][A-Z0-9]{0,30}_[A-Z0-9_]{1,60}[ \t]*$(?=\n\s{0,80}(?:[\w~{]|\Z|/\*|(?://[^\n]{0,200}\n\s{0,80}){1,20}\w))
;; unknown: ^[ \t]*[A-Z][A-Z0-9_]{2,60}[ \t]*:(?=[ \t]*(?:$|//))
;; unknown: \b[A-Z_]{0,30}(?:GUARDED_BY|LOCKS_(?:REQUIRED|EXCLUDED)|LOCK_FUNCTION|LOCK_RETURNED|ASSERT_\w{1,30}_LOCK|(?:REQUIRES|EXCLUDES|ACQUIRE|RELEASE|CAPABILITY)(?:_SHARED)?)\([^();{}]{0,200}\)(?=\s{0,99}[;{=:])
;; unknown: (?<=[:,]\n)(?:[ \t]*#if[^\n]{0,200}\n(?:[^\n#=(<]{0,200}[(<][^\n#=]{0,200},[ \t]*\n){1,9}[ \t]*#endif[^\n]{0,200}\n?){1,3}
;; unknown: ^[ \t]*#if[^\n]{0,200}\n[ \t]*(?:constexpr|explicit|inline|static|virtual)[ \t]*\n[ \t]*#endif[^\n]{0,200}
;; unknown: ^[ \t]*Q_[A-Z_]+(?:\([^()\n]*\))?;?[ \t]*$|\bQ_SLOTS\b|\bQ_SIGNALS\s*:

(preproc_include) @import
(using_declaration "namespace" [(identifier) (qualified_identifier)] @path @all) @import
(translation_unit (using_declaration (qualified_identifier) @path) @import)
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
[(class_specifier !name) (struct_specifier !name)] @anonymous

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
(field_declaration declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name)) @declaration
(field_declaration declarator: (_ (function_declarator declarator: [(field_identifier) (operator_name)] @name))) @declaration
(field_declaration declarator: (field_identifier) @name) @variable
(field_declaration declarator: (_ (field_identifier) @name)) @variable
(field_declaration declarator: (_ (_ (field_identifier) @name))) @variable
(field_declaration declarator: (_ (_ (_ (field_identifier) @name)))) @variable
(field_declaration declarator: (_ (_ (_ (_ (field_identifier) @name))))) @variable
(field_declaration declarator: (function_declarator declarator: (_) @name)) @variable
(field_declaration declarator: (_ (function_declarator declarator: (_) @name))) @variable
(field_declaration_list (declaration declarator: (function_declarator declarator: (_) @name)) @declaration)
(declaration declarator: (identifier) @name) @variable
(declaration declarator: (init_declarator declarator: (identifier) @name)) @variable
(declaration declarator: (init_declarator declarator: (_ declarator: (identifier) @name))) @variable
(declaration declarator: (function_declarator declarator: (_) @name)) @variable
(declaration declarator: (_ (function_declarator declarator: (_) @name))) @variable

;; uses
[(type_identifier) (qualified_identifier name: [(identifier) (type_identifier) (qualified_identifier)])] @use
(call_expression function: [(identifier) (template_function)] @use)
