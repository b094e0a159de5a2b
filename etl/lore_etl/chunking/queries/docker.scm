;; language: Dockerfile
;; files: Dockerfile Containerfile .dockerfile .containerfile
;; grammar: tree_sitter_containerfile.language

(comment) @doc
(from_instruction as: (_) @name) @variable
(arg_instruction (arg_pair name: (_) @name)) @variable
(env_instruction (env_pair name: (_) @name)) @variable
