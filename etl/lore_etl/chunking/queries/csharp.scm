;; language: C#
;; files: .cs
;; grammar: tree_sitter_c_sharp.language
;; unknown: ^[ \t]*#if\b[^\n]*\n(?:[ \t]*\[[^\n]{0,300}\][ \t]*\n){1,9}[ \t]*#endif\b[^\n]*
;; unknown: (?<=,\n)[ \t]*#if\b[^\n]*\n(?![ \t]*#)[^\n]{0,300}[^\n,;{}]\n[ \t]*#endif\b[^\n]*(?=\n\s{0,99}\})
;; unknown: (?<=[(,]\n)[ \t]*#(?:if|elif|else|endif)\b[^\n]*
;; unknown: ^[ \t]*#if\b[^\n]*(?=\n\s{0,99}(?:=>|[{.,?:)|&]|or\b|and\b))
;; unknown: ^[ \t]*#else\b[^\n]*\n\s{0,99}(?:;|=>[^\n]{0,300};)[ \t]*\n[ \t]*#endif\b[^\n]*
;; unknown: ^[ \t]*#endif\b[^\n]*(?=\n\s{0,99}(?:=>|[;{.,?)|&]|where\b))
;; unknown: ^[ \t]*#if\b[^\n]*\n(?:[^\n#]{0,300}[)\]][ \t]*\n){1,4}[ \t]*#else\b[^\n]*(?=\n(?:[^\n#]{0,300}[)\]][ \t]*\n){1,4}[ \t]*#endif\b[^\n]*\n\s{0,99}(?:\{|=>))

(using_directive) @import
(using_directive name: (_) @alias [(identifier) (qualified_name)] @path) @import
(using_directive "global" @shared [(identifier) (qualified_name)] @path @all) @import
(using_directive [(identifier) (qualified_name)] @path @all) @import
(file_scoped_namespace_declaration name: (_) @name) @package
(namespace_declaration name: (_) @name) @scope
(comment) @doc

(class_declaration (modifier) @partial name: (_) @name (#eq? @partial "partial")) @class
(interface_declaration (modifier) @partial name: (_) @name (#eq? @partial "partial")) @interface
(struct_declaration (modifier) @partial name: (_) @name (#eq? @partial "partial")) @struct
(record_declaration (modifier) @partial name: (_) @name (#eq? @partial "partial")) @class
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(struct_declaration name: (_) @name) @struct
(record_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @enum
(base_list [(identifier) (qualified_name) (generic_name) (alias_qualified_name)] @base)
; only the first base may be a class, and the names of interfaces begin with `I`
(class_declaration (base_list (_) [(identifier) (qualified_name) (generic_name) (alias_qualified_name)] @base @implements))
(record_declaration (base_list (_) [(identifier) (qualified_name) (generic_name) (alias_qualified_name)] @base @implements))
(struct_declaration (base_list [(identifier) (qualified_name) (generic_name) (alias_qualified_name)] @base @implements))
((class_declaration (base_list . [(identifier) (qualified_name) (generic_name) (alias_qualified_name)] @base @implements))
  (#match? @implements "^(\\w+[.:]+)*I[A-Z][a-z]"))
(base_list (primary_constructor_base_type type: (_) @base))

(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(destructor_declaration name: (_) @name) @method
(local_function_statement name: (_) @name) @function
(delegate_declaration name: (_) @name) @type
(property_declaration name: (_) @name) @variable
(event_declaration name: (_) @name) @variable
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @variable
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @variable
(enum_member_declaration name: (_) @name) @variable
(record_declaration (parameter_list (parameter name: (_) @name) @variable))

;; uses
(_ type: [(identifier) (qualified_name)] @use)
(_ returns: [(identifier) (qualified_name)] @use)
(generic_name . (identifier) @use)
(type_argument_list (identifier) @use)
(base_list [(identifier) (qualified_name)] @use)
(attribute name: (_) @use)
(as_expression right: (identifier) @use)
(member_access_expression expression: (identifier) @use (#match? @use "^[A-Z]"))
