;; language: Dart
;; files: .dart
;; grammar: tree_sitter_dart.language

(import_or_export) @import
(part_directive) @import
(documentation_comment) @doc
(comment) @doc

(class_definition name: (_) @name) @class
(class_definition (mixin_application_class . (identifier) @name)) @class
(extension_type_declaration name: (_) @name) @class
(mixin_declaration . (mixin) . (identifier) @name) @trait
(extension_declaration name: (_) @name) @object
(enum_declaration name: (_) @name) @enum
(superclass (type_identifier) @base)
(mixins (type_identifier) @base @implements @mixin)
(mixin_application . (type_identifier) @base)
(interfaces (type_identifier) @base @implements)
(mixin_declaration (type_identifier) @base)

((method_signature (function_signature name: (_) @name)) @method . (function_body)? @end)
((method_signature (getter_signature name: (_) @name)) @method . (function_body)? @end)
((method_signature (setter_signature name: (_) @name)) @method . (function_body)? @end)
((method_signature (constructor_signature . name: (_) . name: (_)? @name)) @method . (function_body)? @end)
((method_signature (factory_constructor_signature (_) . (identifier) @name)) @method . (function_body)? @end)
(declaration (constructor_signature . name: (_) . name: (_) @name)) @variable
(declaration (function_signature name: (_) @name)) @variable
(declaration (getter_signature name: (_) @name)) @variable
(program (function_signature name: (_) @name) @function . (function_body)? @end)
(program (getter_signature name: (_) @name) @function . (function_body)? @end)
(type_alias . (type_identifier) @name) @type
(static_final_declaration . (identifier) @name) @variable
(initialized_identifier . (identifier) @name) @variable
(enum_constant name: (_) @name) @variable

;; uses
(type_identifier) @use
((identifier) @use . (selector (argument_part)))
((identifier) @use . (selector (unconditional_assignable_selector (identifier))) (#match? @use "^[A-Z]"))
