;; language: PHP
;; files: .php .phtml .inc
;; grammar: tree_sitter_php.language_php

(namespace_definition name: (_) @name !body) @package
(namespace_definition name: (_) @name body: (_)) @scope
(namespace_use_declaration) @import
(namespace_use_declaration (namespace_name) @prefix body: (_)) @group
(namespace_use_clause . (_) @path alias: (_)? @alias) @import
(comment) @doc

(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(base_clause [(name) (qualified_name)] @base)
(class_interface_clause [(name) (qualified_name)] @base @implements)
(use_declaration [(name) (qualified_name)] @base @implements @mixin)
(anonymous_class) @literal

(method_declaration name: (_) @name) @method
(function_definition name: (_) @name) @function
(const_declaration (const_element . (name) @name)) @variable
(property_declaration (property_element name: (_) @name)) @variable
(property_promotion_parameter name: (_) @name) @promoted
(enum_case name: (_) @name) @variable
(function_call_expression function: (name) @_define arguments: (arguments . (argument (string) @name))
  (#eq? @_define "define")) @variable

;; uses
(named_type [(name) (qualified_name)] @use)
(object_creation_expression . [(name) (qualified_name)] @use)
(function_call_expression function: [(name) (qualified_name)] @use)
(scoped_call_expression scope: [(name) (qualified_name)] @use)
(class_constant_access_expression . [(name) (qualified_name)] @use)
(binary_expression right: [(name) (qualified_name)] @use)
[(base_clause (_) @use) (class_interface_clause (_) @use) (attribute . (_) @use)]
(use_declaration [(name) (qualified_name)] @use)
