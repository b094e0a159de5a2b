;; language: Make
;; files: Makefile GNUmakefile makefile .mk
;; grammar: tree_sitter_make.language

(comment) @doc
(include_directive) @import
(rule (targets (word) @name)) @target
(define_directive name: (_) @name) @macro
(variable_assignment name: (_) @name) @variable
