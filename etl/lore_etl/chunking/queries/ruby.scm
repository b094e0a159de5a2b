;; language: Ruby
;; files: .rb .rake .gemspec Rakefile Gemfile
;; grammar: tree_sitter_ruby.language

(program (call method: (identifier) @_require (#any-of? @_require "require" "require_relative" "load")) @import)
(comment) @doc

(module "module" @partial name: (_) @name) @module
(class "class" @partial name: (_) @name) @class
(superclass [(constant) (scope_resolution)] @base)
(superclass (element_reference object: [(constant) (scope_resolution)] @base))
(superclass (call receiver: [(constant) (scope_resolution)] @receiver method: (identifier) @_new (#any-of? @_new "new" "define")))
(assignment left: [(constant) (scope_resolution)] @name "=" @partial right: (call receiver: (constant) @_class
  method: (identifier) @_new arguments: (argument_list . [(constant) (scope_resolution)] @base)
  (#eq? @_class "Class") (#eq? @_new "new"))) @class
(assignment left: [(constant) (scope_resolution)] @name "=" @partial right: (call receiver: (constant) @_class
  method: (identifier) @_new block: (_) (#eq? @_class "Class") (#eq? @_new "new"))) @class
(assignment left: [(constant) (scope_resolution)] @name "=" @partial right: (call receiver: (constant) @receiver
  method: (identifier) @_new (#any-of? @receiver "Struct" "Data") (#any-of? @_new "new" "define"))) @class
(call !receiver method: (identifier) @_mix arguments: (argument_list [(constant) (scope_resolution)] @base @implements @mixin)
  (#any-of? @_mix "include" "extend" "prepend"))

(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(call method: (identifier) @_test arguments: (argument_list . (string (string_content) @name)) block: (_)
  (#any-of? @_test "it" "specify" "test" "scenario")) @test
([(program (call method: (identifier) @_task arguments: (argument_list . [(simple_symbol) @name (string) @name (pair key: (_) @name)])) @variable)
  (do_block (body_statement (call method: (identifier) @_task arguments: (argument_list . [(simple_symbol) @name (string) @name (pair key: (_) @name)])) @variable))]
  (#any-of? @_task "task" "desc" "namespace"))
(call method: (identifier) @_attribute arguments: (argument_list (simple_symbol) @name)
  (#match? @_attribute "^(attr_(reader|writer|accessor)|alias_method|delegate|scope|has_many|has_one|belongs_to)$")) @variable
(assignment left: [(constant) (scope_resolution)] @name) @variable

;; uses
[(constant) (scope_resolution)] @use
