;; language: Java
;; files: .java
;; grammar: tree_sitter_java.language
;; family: jvm

(package_declaration (_) @name) @package
(import_declaration (_) @path (asterisk) @all) @import
(import_declaration (_) @path) @import
(block_comment) @doc
(line_comment) @doc

(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(superclass (_) @base)
(super_interfaces (type_list (_) @base @implements))
(extends_interfaces (type_list (_) @base))
[(object_creation_expression (class_body) @literal) (enum_constant body: (_) @literal)]

(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(compact_constructor_declaration name: (_) @name) @method
(annotation_type_element_declaration name: (_) @name) @variable
(field_declaration declarator: (variable_declarator name: (_) @name)) @variable
(constant_declaration declarator: (variable_declarator name: (_) @name)) @variable
(enum_constant name: (_) @name) @variable
(record_declaration (formal_parameters (formal_parameter name: (_) @name) @variable))

;; uses
[(type_identifier) (scoped_type_identifier)] @use
[(annotation name: (_) @use) (marker_annotation name: (_) @use)]
([(method_invocation object: (identifier) @use) (field_access object: (identifier) @use)
  (method_reference . (identifier) @use)] (#match? @use "^[A-Z]"))
