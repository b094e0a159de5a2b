;; language: Kotlin
;; files: .kt .kts
;; grammar: tree_sitter_kotlin.language
;; family: jvm
;; unknown: ^[ \t]*annotation(?= class\b)|\bactual(?= constructor\b)
;; unknown: (?<=[:,] )@[\w.]{1,99}(?:\([^()\n]{0,99}\))?(?=\s{1,9}[A-Z])

(package_header (_) @name) @package
(import (qualified_identifier) @path "*" @all) @import
(import (qualified_identifier) @path (identifier)? @alias) @import
(block_comment) @doc
(line_comment) @doc

(class_declaration (modifiers (platform_modifier "actual") @actual) "interface" name: (_) @name) @interface
(class_declaration (modifiers (platform_modifier "actual") @actual) name: (_) @name) @class
(object_declaration (modifiers (platform_modifier "actual") @actual) name: (_) @name) @object
(class_declaration (modifiers (platform_modifier) @partial) "interface" name: (_) @name) @interface
(class_declaration (modifiers (platform_modifier) @partial) name: (_) @name) @class
(object_declaration (modifiers (platform_modifier) @partial) name: (_) @name) @object
(class_declaration "interface" name: (_) @name) @interface
(class_declaration (modifiers (class_modifier) @_enum) name: (_) @name (#eq? @_enum "enum")) @enum
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @object
(companion_object name: (_) @name) @object
(delegation_specifier (user_type) @base)
(delegation_specifier (constructor_invocation (user_type) @base))
(delegation_specifier (explicit_delegation (user_type) @base))
(companion_object !name) @anonymous
(object_literal) @literal

(function_declaration name: (_) @name) @function
(type_alias type: (_) @name) @type
(property_declaration (variable_declaration (identifier) @name)) @variable
(class_parameter ["val" "var"] (identifier) @name) @variable
(enum_entry (identifier) @name) @variable

;; uses
(user_type . (identifier) @use)
(call_expression . (identifier) @use)
(navigation_expression . (identifier) @use (#match? @use "^[A-Z]"))
