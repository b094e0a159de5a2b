;; language: Swift
;; files: .swift
;; grammar: tree_sitter_swift.language
;; unknown: ^[ \t]*#(?:if|elseif|else|endif)\b[^\n]*
;; unknown: ~(?:Copyable|Escapable)\s{0,9},|[:,]\s{0,9}~(?:Copyable|Escapable)\b
;; unknown: ~(?=[\w.])
;; unknown: \bnonisolated\(unsafe\)
;; unknown: @_inheritActorContext\b

(import_declaration) @import
(comment) @doc
(multiline_comment) @doc

(class_declaration "extension" name: (_) @name) @extension
(class_declaration "struct" name: (_) @name) @struct
(class_declaration "enum" name: (_) @name) @enum
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @protocol
(inheritance_specifier inherits_from: (_) @base)

(function_declaration name: (simple_identifier) @name) @function
(init_declaration "init" @name) @function
(subscript_declaration "subscript" @name) @function
(typealias_declaration name: (type_identifier) @name) @type
(protocol_function_declaration name: (simple_identifier) @name) @declaration
(protocol_property_declaration name: (pattern bound_identifier: (_) @name)) @variable
(associatedtype_declaration name: (_) @name) @variable
(property_declaration name: (pattern bound_identifier: (_) @name)) @variable
(enum_entry name: (simple_identifier) @name) @variable

;; uses
(user_type . (type_identifier) @use)
(call_expression . (simple_identifier) @use)
(navigation_expression . (simple_identifier) @use (#match? @use "^[A-Z]"))
