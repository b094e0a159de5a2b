;; language: Elixir
;; files: .ex .exs
;; grammar: tree_sitter_elixir.language

(comment) @doc
(unary_operator operator: "@" operand: (call target: (identifier) @_doc
  (#any-of? @_doc "doc" "spec" "moduledoc" "impl" "typedoc" "deprecated" "decorate"))) @doc
(call target: (identifier) @_import (#any-of? @_import "import" "require")) @import
(call target: (identifier) @_alias (arguments . (alias) @path) (#eq? @_alias "alias")) @import
(call target: (identifier) @_alias (arguments (dot left: (alias) @prefix right: (tuple))) (#eq? @_alias "alias")) @group
(call target: (identifier) @_alias (arguments (dot right: (tuple (alias) @path))) (#eq? @_alias "alias")) @import

(call target: (identifier) @_module (arguments . (alias) @name) (do_block) (#eq? @_module "defmodule")) @module
(call target: (identifier) @_module (arguments . (alias) @name) (do_block) (#eq? @_module "defprotocol")) @protocol
(call target: (identifier) @_impl (arguments . (alias) @base @implements (keywords (pair value: (alias) @name))) (do_block)
  (#eq? @_impl "defimpl")) @extension
(call target: (identifier) @_impl (arguments . (alias) @base @implements (keywords (pair value:
  (list (alias) @name ("," (alias) @name)*)))) (do_block) (#eq? @_impl "defimpl")) @extension
(call target: (identifier) @_impl (arguments . (alias) @base @implements .) (do_block) (#eq? @_impl "defimpl"))
(call target: (identifier) @_module (arguments . [(call) (dot) (identifier) (atom) (unary_operator)]) (do_block) @anonymous
  (#any-of? @_module "defmodule" "defprotocol" "defimpl"))
(call target: (identifier) @_impl (arguments . (alias)) (do_block) @anonymous (#eq? @_impl "defimpl"))
(call target: (identifier) @_use (arguments . (alias) @base) (#eq? @_use "use"))
(unary_operator operand: (call target: (identifier) @_behaviour (arguments . (alias) @base @implements) (#eq? @_behaviour "behaviour")))

(call target: (identifier) @_def (arguments . (call target: (identifier) @name))
  (#match? @_def "^def(p|macro|macrop|delegate|guard|guardp|n|np)?$")) @function
(call target: (identifier) @_def (arguments . (binary_operator left: (call target: (identifier) @name)))
  (#match? @_def "^def(p|macro|macrop|delegate|guard|guardp|n|np)?$")) @function
(call target: (identifier) @_def (arguments . (identifier) @name)
  (#match? @_def "^def(p|macro|macrop|delegate|guard|guardp|n|np)?$")) @function
(call target: (identifier) @_test (arguments . (string (quoted_content) @name)) (do_block)
  (#any-of? @_test "test" "property")) @test
(unary_operator operand: (call target: (identifier) @name (arguments . (_)))
  (#not-match? @name "^((module|type)?doc|spec|impl|deprecated|behaviour|(macro)?callback|typep?|opaque)$")) @variable
(unary_operator operand: (call target: (identifier) @_callback
  (arguments . (binary_operator left: [(call target: (identifier) @name) (identifier) @name]))
  (#any-of? @_callback "callback" "macrocallback" "type" "typep" "opaque"))) @variable
