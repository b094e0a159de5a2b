;; language: Terraform
;; files: .tf .tfvars .hcl
;; grammar: tree_sitter_hcl.language

(comment) @doc
(block . (identifier) @name . (string_lit)? @name . (string_lit)? @name) @key
(attribute . (identifier) @name) @variable
