;; language: Scala
;; files: .scala .sc
;; grammar: tree_sitter_scala.language
;; family: jvm

(package_clause name: (_) @name !body) @package
(package_clause name: (_) @name body: (_)) @scope
(import_declaration (namespace_wildcard) @all) @import @path
(import_declaration (namespace_selectors)) @group @prefix
(import_declaration) @import @path
(namespace_selectors (identifier) @path @import)
(namespace_selectors (arrow_renamed_identifier name: (_) @path alias: (_) @alias) @import)
(comment) @doc
(block_comment) @doc

(class_definition name: (_) @name) @class
(trait_definition name: (_) @name) @trait
(object_definition name: (_) @name) @object
(package_object name: (_) @name) @object
(enum_definition name: (_) @name) @enum
(extends_clause [(type_identifier) (generic_type) (stable_type_identifier) (projected_type)] @base)
[(simple_enum_case) (full_enum_case)] @anonymous
(instance_expression) @literal

(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(given_definition name: (_) @name) @variable
(type_definition name: (_) @name) @variable
(val_definition pattern: (identifier) @name) @variable
(var_definition pattern: (identifier) @name) @variable
(val_declaration name: (_) @name) @variable
(var_declaration name: (_) @name) @variable
(class_parameter name: (_) @name) @variable
(simple_enum_case name: (_) @name) @variable
(full_enum_case name: (_) @name) @variable

;; uses
[(type_identifier) (stable_type_identifier)] @use
(call_expression function: (identifier) @use)
(field_expression value: (identifier) @use (#match? @use "^[A-Z]"))
