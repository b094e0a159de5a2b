;; language: Go
;; files: .go
;; grammar: tree_sitter_go.language

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
(method_elem name: (_) @name parameters: (_) @parameters result: (_)? @result) @declaration

(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (_) @name
  parameters: (_) @parameters result: (_)? @result) @method
(var_spec name: (identifier) @_blank type: (_) @asserted value: (expression_list . [
  (call_expression function: [(identifier) (selector_expression)] @of)
  (call_expression function: (identifier) @_new arguments: (argument_list . (_) @of) (#eq? @_new "new"))
  (call_expression function: (parenthesized_expression (unary_expression operand: (_) @of)))
  (type_conversion_expression type: (parenthesized_type (pointer_type (_) @of)))
  (composite_literal type: (_) @of)
  (unary_expression operand: (composite_literal type: (_) @of))]) (#eq? @_blank "_"))
(const_spec name: (_) @name) @variable
(var_spec name: (_) @name) @variable

;; uses
[(type_identifier) (qualified_type) (selector_expression operand: (identifier))] @use
(call_expression function: (identifier) @use)
