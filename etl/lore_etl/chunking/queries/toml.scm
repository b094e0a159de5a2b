;; language: TOML
;; files: .toml
;; grammar: tree_sitter_toml.language

(comment) @doc
(table . [(bare_key) (quoted_key) (dotted_key)] @name) @key
(table_array_element . [(bare_key) (quoted_key) (dotted_key)] @name) @key
(pair . [(bare_key) (quoted_key) (dotted_key)] @name) @variable
