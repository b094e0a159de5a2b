; The names that a JavaScript or TypeScript module imports and exports.
;
; @module is the other module. In it a name is @name, here it is @alias if it has another one. @default is the local name
; of a default import, @whole that of a whole module; @all means all that a module exports. @main is the default export,
; unless it is an @unnamed class.

(program (import_statement (import_clause (identifier) @default) source: (_) @module) @import)
(program (import_statement (import_clause (namespace_import (_) @whole)) source: (_) @module) @import)
(program (import_statement (import_clause (named_imports (import_specifier name: _ @name alias: _? @alias)))
  source: (_) @module) @import)

(program (_ (variable_declarator name: (identifier) @default value: (call_expression
  function: (identifier) @_require arguments: (arguments . (string) @module)))) @import (#eq? @_require "require"))
(program (_ (variable_declarator name: (object_pattern [(shorthand_property_identifier_pattern) @name
  (pair_pattern key: (_) @name value: (_) @alias)]) value: (call_expression
  function: (identifier) @_require arguments: (arguments . (string) @module)))) @import (#eq? @_require "require"))

(program (export_statement (export_clause (export_specifier name: _ @name alias: _? @alias)) source: (_)? @module))
(program (export_statement (namespace_export (_) @whole) source: (_) @module))
(program (export_statement "*" @all source: (_) @module))

(program (export_statement "default" value: [(identifier) @main (class name: (_) @main)
  (call_expression arguments: (arguments (identifier) @main))]))
(program (export_statement "default" declaration: (_ name: (_) @main)))
(program (export_statement "default" value: (class "class" @unnamed !name)))
(program (expression_statement . (assignment_expression left: (_) @_exports right: [(identifier) @main (class name: (_) @main)
  (call_expression arguments: (arguments (identifier) @main)) (object (shorthand_property_identifier) @name)]))
  (#eq? @_exports "module.exports"))
(program (expression_statement . (assignment_expression left: (_) @_exports right: (class "class" @unnamed !name)))
  (#eq? @_exports "module.exports"))
