;; language: Rust
;; files: .rs
;; grammar: tree_sitter_rust.language

(use_declaration) @import
(use_declaration argument: [(identifier) (scoped_identifier)] @path) @import
(use_declaration argument: (use_wildcard (_) @path) @all) @import
(use_declaration argument: (use_as_clause path: (_) @path alias: (_) @alias)) @import
(scoped_use_list path: (_) @prefix) @group
(use_list [(identifier) (scoped_identifier)] @path @import)
(use_list (use_wildcard (_) @path) @all @import)
(use_list (use_as_clause path: (_) @path alias: (_) @alias) @import)
(source_file (type_item name: (_) @alias type: [(type_identifier) (scoped_type_identifier)] @path))
(source_file (type_item name: (_) @alias type: (generic_type type: (_) @path)))
(line_comment) @doc
(block_comment) @doc
(attribute_item) @doc

(mod_item name: (_) @name body: (_)) @scope
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(trait_item name: (_) @name) @trait
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(impl_item type: [(type_identifier) (scoped_type_identifier)] @name) @impl
(impl_item type: (generic_type type: (_) @name)) @impl
(impl_item type: (reference_type type: [(type_identifier) (scoped_type_identifier)] @name)) @impl
(impl_item type: (reference_type type: (generic_type type: (_) @name))) @impl
(impl_item type: (_) @name) @impl
(impl_item trait: (_) @base @implements)

(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(macro_definition name: (_) @name) @macro
(type_item name: (_) @name) @type
(associated_type name: (_) @name) @variable
(const_item name: (_) @name) @variable
(static_item name: (_) @name) @variable
(field_declaration name: (_) @name) @variable
(enum_variant name: (_) @name) @variable

;; uses
[(type_identifier) (scoped_type_identifier) (scoped_identifier)] @use
(call_expression function: (identifier) @use)
(macro_invocation macro: (identifier) @use)
