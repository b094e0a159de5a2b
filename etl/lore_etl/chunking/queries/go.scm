;; language: Go
;; files: .go
;; grammar: tree_sitter_go.language
;; packages: folder

(package_clause (package_identifier) @name) @package
(import_declaration) @import
(import_spec name: (_)? @alias path: (_) @path) @import
(comment) @doc

(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(field_declaration_list (field_declaration !name type: (_) @base))
(interface_type (type_elem . [(type_identifier) (qualified_type) (generic_type)] @base .))
(field_declaration name: (_) @name) @variable
(method_elem name: (_) @name) @variable

(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (_) @name) @method
(const_spec name: (_) @name) @variable
(var_spec name: (_) @name) @variable
