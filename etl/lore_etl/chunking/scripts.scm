; The definitions and names of scripts. Definitions in @inside are read as those of a file. The first two parts are for
; JavaScript and TypeScript, the second of them about names of other definitions. The next two are only for JavaScript,
; the last two only for TypeScript.

[(comment) (decorator)] @doc
(class_body [(comment) (decorator)] @doc)

; @imports is a statement that only imports, @from another one that imports. @module is the other module, @member a name
; in it, as is a @part of its list of @parts; @local is the name here if it has another one, @default the local name of a
; default import, @whole that of a whole module; @all means all that a module exports. @main is the default export,
; unless it is an @unnamed class.
(program (import_statement . (string)) @imports)
(program (import_statement (import_clause (named_imports . "{" . "}"))) @imports)
(program (_ . (variable_declarator value: (call_expression function: (identifier) @_require))+ .) @imports
  (#eq? @_require "require"))

(program (import_statement (import_clause (identifier) @default) source: (_) @module) @imports)
(program (import_statement (import_clause (namespace_import (_) @whole)) source: (_) @module) @imports)
(program (import_statement (import_clause (named_imports) @parts) source: (_) @module) @imports)

(program (_ (variable_declarator name: (identifier) @default value: (call_expression
  function: (identifier) @_require arguments: (arguments . (string) @module)))) @from (#eq? @_require "require"))
(program (_ (variable_declarator name: (object_pattern) @parts value: (call_expression
  function: (identifier) @_require arguments: (arguments . (string) @module)))) @from (#eq? @_require "require"))

(program (export_statement (export_clause) @parts source: (_)? @module))
(program (export_statement (namespace_export (_) @whole) source: (_) @module))
(program (export_statement "*" @all source: (_) @module))

; A pattern of a name and the module after it would leave a match unfinished for each name, and cost cubic time.
(named_imports (import_specifier name: _ @part alias: _? @local)) @parts
(export_clause (export_specifier name: _ @part alias: _? @local)) @parts
(object_pattern [(shorthand_property_identifier_pattern) @part (pair_pattern key: (_) @part value: (_) @local)]) @parts

(program (export_statement "default" value: [(identifier) @main (class name: (_) @main)
  (call_expression arguments: (arguments (identifier) @main))]))
(program (export_statement "default" declaration: (_ name: (_) @main)))
(program (export_statement "default" value: (class "class" @unnamed !name)))
(program (expression_statement . (assignment_expression left: (_) @_exports right: [(identifier) @main (class name: (_) @main)
  (call_expression arguments: (arguments (identifier) @main)) (object (shorthand_property_identifier) @member)]))
  (#eq? @_exports "module.exports"))
(program (expression_statement . (assignment_expression left: (_) @_exports right: (class "class" @unnamed !name)))
  (#eq? @_exports "module.exports"))

(export_statement "default" @name value: (class !name) @class) @start
(export_statement (decorator) declaration: (_ name: (_) @name body: (class_body)) @class) @start
(class_declaration name: (_) @name) @class
(lexical_declaration . (variable_declarator name: (_) @name value: (class) @class) .) @start @end
(variable_declaration . (variable_declarator name: (_) @name value: (class) @class) .) @start @end

(variable_declarator value: (class [(class_heritage) (class_body)] @inside))

(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(export_statement "default" @name value: [(arrow_function) (function_expression !name) (generator_function !name)] @function) @start
(export_statement "default" value: [(function_expression name: (_) @name) (generator_function name: (_) @name)] @function) @start
(lexical_declaration (variable_declarator name: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)] @function)) @start @end
(variable_declaration (variable_declarator name: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)] @function)) @start @end
(expression_statement . (assignment_expression left: (_) @name
  right: [(arrow_function) (function_expression) (generator_function)] @function)) @start @end

(class_body (method_definition name: (_) @name) @method)
; the convention of Neo.mjs: `static config = {mixins: [A, B]}`
(class_body (_ (property_identifier) @_config value: (object (pair key: (_) @_mixins value: (array (identifier) @base))))
  (#eq? @_config "config") (#match? @_mixins "^['\"`]?mixins['\"`]?$"))
(class_body (_ (property_identifier) @_config value: (object (pair key: (_) @name) @config)) (#eq? @_config "config"))

(expression_statement . (call_expression function: [(identifier) @_suite (member_expression object: (identifier) @_suite)
  (member_expression property: (_) @_suite) (member_expression object: (member_expression property: (_) @_suite)) (call_expression function: (member_expression object: (identifier) @_suite))]
  arguments: (arguments . [(string) (template_string)] @name [(arrow_function body: (_) @inside) (function_expression body: (_) @inside) (identifier)] @suite .))
  (#any-of? @_suite "describe" "suite" "context")) @start @end
(expression_statement . (call_expression function: [(identifier) @_test (member_expression object: (identifier) @_test)
  (member_expression object: (member_expression object: (identifier) @_test)) (call_expression function: (member_expression object: (identifier) @_test))]
  arguments: (arguments . [(string) (template_string)] @name (_) @test .))
  (#any-of? @_test "test" "it" "specify")) @start @end

(program [(lexical_declaration (variable_declarator name: (identifier) @name @global value: _? @_value))
  (variable_declaration (variable_declarator name: (identifier) @name @global value: _? @_value))
  (export_statement declaration: (_ (variable_declarator name: (identifier) @name @global value: _? @_value)))]
  (#not-match? @_value "^require\\s*\\([^()]*\\)[.\\w]*$"))

;; part

[(identifier) (shorthand_property_identifier)] @use

;; part

(class_body (field_definition property: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @method)
(class_body (field_definition property: (_) @name) @attribute)
(class_body (field_definition value: (class) @literal))
(class_heritage [(identifier) (member_expression)] @base)

;; part
;; part

(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(function_signature name: (_) @name) @function
(internal_module name: (_) @name body: (_)? @inside) @namespace
(module name: (_) @name body: (_)? @inside) @namespace

(class_body (method_signature name: (_) @name) @method)
(class_body (abstract_method_signature name: (_) @name) @method)
(interface_body (method_signature name: (_) @name) @signature)
(interface_body (property_signature name: (_) @name) @attribute)
(class_body (public_field_definition name: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @method)
(class_body (public_field_definition name: (_) @name) @attribute)
(class_body (public_field_definition value: (class) @literal))
(class_body (method_definition (formal_parameters (_ [(accessibility_modifier) (override_modifier) "readonly"] (identifier) @name) @promoted)))
(enum_body [(property_identifier) @name (string (string_fragment) @name)] @attribute)
(enum_body (enum_assignment name: [(property_identifier) @name (string (string_fragment) @name)]) @attribute)

(program (import_statement (import_require_clause)) @imports)
(program (export_statement "=" (identifier) @main))
(program [(ambient_declaration (_ (variable_declarator name: (identifier) @name @global)))
  (export_statement (ambient_declaration (_ (variable_declarator name: (identifier) @name @global))))])
(ambient_declaration (statement_block) @inside)
(export_statement (ambient_declaration (_ [(class_heritage) (class_body) (extends_type_clause) (interface_body)] @inside)))
(class_heritage (extends_clause value: [(identifier) (member_expression)] @base))
(class_heritage (implements_clause [(type_identifier) @base @implements (nested_type_identifier) @base @implements
  (generic_type name: [(type_identifier) (nested_type_identifier)] @base @implements)]))
(extends_type_clause [(type_identifier) @base (nested_type_identifier) @base
  (generic_type name: [(type_identifier) (nested_type_identifier)] @base)])

;; part

(type_identifier) @use
