;; language: Bash
;; files: .sh .bash .zsh .ksh .bats .bashrc .zshrc .profile
;; grammar: tree_sitter_bash.language

(program (command name: (_) @_source (#any-of? @_source "source" ".")) @import)
(comment) @doc

(function_definition name: (_) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)
