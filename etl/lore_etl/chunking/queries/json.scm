;; language: JSON
;; files: .json .jsonc .json5 .webmanifest
;; grammar: tree_sitter_json.language

(comment) @doc
(pair key: (string (string_content) @name) value: [(object) (array)]) @key
(pair key: (string (string_content) @name)) @variable
