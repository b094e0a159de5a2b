; What the parser of scripts reads with queries. The first two parts are for JavaScript and TypeScript.
;
; Nodes anywhere: @use is a name, @leading belongs to the definition below it.

[(identifier) (shorthand_property_identifier)] @use
[(comment) (decorator)] @leading

;; part
; Children of a module: @imports is a statement that only imports, @variable the name of a variable.
; @module is the other module. In it a name is @name, here it is @alias if it has another one. @default is the local name
; of a default import, @whole that of a whole module; @all means all that a module exports. @main is the default export,
; unless it is an @unnamed class. Children of a class: @mixin is one of `static config = {mixins: [A, B]}`, the convention
; of Neo.mjs.

(class_body (_ (property_identifier) @_config value: (object (pair key: (_) @_mixins value: (array (identifier) @mixin))))
  (#eq? @_config "config") (#match? @_mixins "^['\"`]?mixins['\"`]?$"))

(program (import_statement) @imports)
(program (_ . (variable_declarator value: (call_expression function: (identifier) @_require))+ .) @imports
  (#eq? @_require "require"))
(program [(lexical_declaration (variable_declarator name: (identifier) @variable))
  (variable_declaration (variable_declarator name: (identifier) @variable))
  (export_statement declaration: (_ (variable_declarator name: (identifier) @variable)))])

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

;; part
; Only in JavaScript.
;; part

(class_heritage [(identifier) (member_expression)] @base)

;; part
; Only in TypeScript. @interface is one that a class implements.

(type_identifier) @use

;; part

(program (export_statement "=" (identifier) @main))
(program [(ambient_declaration (_ (variable_declarator name: (identifier) @variable)))
  (export_statement (ambient_declaration (_ (variable_declarator name: (identifier) @variable))))])
(class_heritage (extends_clause value: [(identifier) (member_expression)] @base))
(class_heritage (implements_clause [(type_identifier) @interface (nested_type_identifier) @interface
  (generic_type name: [(type_identifier) (nested_type_identifier)] @interface)]))
(extends_type_clause [(type_identifier) @base (nested_type_identifier) @base
  (generic_type name: [(type_identifier) (nested_type_identifier)] @base)])
