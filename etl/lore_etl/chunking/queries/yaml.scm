;; language: YAML
;; files: .yaml .yml
;; grammar: tree_sitter_yaml.language

(comment) @doc
(block_mapping_pair key: (_) @name value: (block_node [(block_mapping) (block_sequence)])) @key
(block_mapping_pair key: (_) @name) @variable
(flow_pair key: (_) @name) @variable
