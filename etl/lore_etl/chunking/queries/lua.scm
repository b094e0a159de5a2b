;; language: Lua
;; files: .lua .nse
;; grammar: tree_sitter_lua.language

(chunk (variable_declaration (assignment_statement (expression_list value: (function_call name: (identifier) @_require)))
  (#eq? @_require "require")) @import)
(comment) @doc

(function_declaration name: (_) @name) @function
(variable_declaration (assignment_statement (variable_list . name: (_) @name)
  (expression_list . value: (function_definition)))) @function
(assignment_statement (variable_list . name: (_) @name) (expression_list . value: (function_definition))) @function
(chunk (variable_declaration (assignment_statement (variable_list name: (_) @name))) @variable)
(chunk (assignment_statement (variable_list name: (_) @name)) @variable)
(chunk (variable_declaration (assignment_statement (expression_list value: (table_constructor
  (field name: (identifier) @name value: (function_definition)) @function)))))

;; uses
(function_call name: (dot_index_expression) @use)
