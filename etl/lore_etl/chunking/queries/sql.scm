;; language: SQL
;; files: .sql .ddl .psql
;; grammar: tree_sitter_sql.language

(comment) @doc
(marginalia) @doc

(statement (create_table (object_reference name: (_) @name))) @table
(statement (create_view (object_reference name: (_) @name))) @view
(statement (create_materialized_view (object_reference name: (_) @name))) @view
(statement (create_function (object_reference name: (_) @name))) @function
(statement (create_procedure (object_reference name: (_) @name))) @function
(statement (create_trigger . (_)* . (object_reference name: (_) @name))) @trigger
(statement (create_type (object_reference name: (_) @name))) @type
(statement (create_index column: (_) @name)) @variable
(statement (create_sequence (object_reference name: (_) @name))) @variable
(statement (create_schema (identifier) @name)) @variable
(column_definition name: (_) @name) @variable
