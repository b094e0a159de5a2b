"""Languages with a query file: their samples, their chunks, and files that cannot be parsed."""

import random

import pytest

from lore_etl.chunking import parse
from lore_etl.chunking.code_languages import CodeLanguage, code_languages, code_syntaxes
from lore_etl.sources.source import SYNTAXES, syntax_of
from tests.golden.outlines import rendered, target_of
from tests.harness.texts import chunks_in, document, facts_of, outline, symbols, words

BODY = words(30)
PADDING = "\n" * 1_000
"""Makes a text so long that it is not taken for a fragment of a file."""
LANGUAGES = list(code_languages())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_outline_of_a_sample_equals_the_golden_file(language: str) -> None:
    """After an intended change, write the golden files with `make golden` and review the diff."""
    assert rendered(language) == target_of(language).read_text(encoding="utf-8")


def test_every_file_name_belongs_to_one_language() -> None:
    named = [name for one in code_languages().values() for name in one.files]

    assert len(named) == len(set(named))
    assert {*named} & {*SYNTAXES} == set()
    assert syntax_of("src/Main.KT") == "kotlin"
    assert set(code_syntaxes().values()) == set(LANGUAGES)


def test_a_short_fragment_of_code_stays_whole() -> None:
    text = """  }
  /** Closes the writer. */
  void close() {
    if (open) {
      flush();
"""
    assert [(chunk.kind, chunk.lines) for chunk in chunks_in("src/Writer.java", text)] == [("text", (1, 5))]
    assert {chunk.kind for chunk in chunks_in("src/Writer.java", "class Writer {\n void close() {}\n}\n")} == {"class"}


def test_methods_of_go_belong_to_their_type_and_keep_their_comments() -> None:
    text = f"""package store

// Reader reads. {BODY}
type Reader struct {{
	Base
	limit int // {BODY}
}}

// Read does. {BODY}
func (r *Reader) Read() {{}}

// Open opens. {BODY}
func Open() {{}}
"""
    chunks = chunks_in("store/reader.go", text)

    assert outline(chunks) == [
        ("struct", (1, 7), ("Reader",)),
        ("method", (9, 10), ("Reader", "Read")),
        ("function", (12, 13), ("Open",)),
    ]
    assert symbols(chunks) == [("Reader", "Reader.limit"), ("Reader.Read",), ("Open",)]
    assert [one.class_name for one in chunks] == ["Reader", "Reader", None]


def test_members_of_a_java_class_become_chunks_with_their_annotations() -> None:
    text = f"""package com.acme;

/** A shop. {BODY} */
@Service
public class Shop extends Base implements Open {{
    /** {BODY} */
    @Override
    public void sell() {{}}

    /** {BODY} */
    static class Order {{}}
}}
"""
    chunks = chunks_in("Shop.java", text)

    assert outline(chunks) == [
        ("class", (1, 5), ("Shop",)),
        ("method", (6, 8), ("Shop", "sell")),
        ("class", (10, 12), ("Shop", "Order")),
    ]
    assert [(one.full_name, one.bases) for one in facts_of("Shop.java", text).classes] == [
        ("com.acme.Shop", ("Base", "Open")),
        ("com.acme.Shop.Order", ()),
    ]


def test_an_implementation_in_rust_extends_its_type() -> None:
    text = "pub struct Disk;\nimpl Store for Disk {\n    fn get(&self) {}\n}\n"

    facts = facts_of("src/disk.rs", text)

    assert [(one.name, one.bases, one.part) for one in facts.classes] == [
        ("Disk", (), ""),
        ("Disk", ("Store",), "extension"),
    ]
    assert [one.name for one in facts.members["Disk"]] == ["get"]


def test_a_task_of_rake_has_the_name_before_those_that_it_needs_and_minified_code_is_indexed_as_text() -> None:
    rake = chunks_in("Rakefile", "namespace :db do\n  task :run => :load do\n  end\nend\n")

    assert symbols(rake) == [("db", "run")]
    assert parse(document("a.go", "x" * 5_000_000)).warning == "minified code; indexed as plain text"


@pytest.mark.parametrize("path", ["a.c", "a.h", "a.cpp"])
def test_the_members_of_a_struct_are_known_however_they_are_declared(path: str) -> None:
    fields = "int a, *b; char **c; char d[4][8]; void (*e)(void *unused); int ***f; int g : 3;"
    facts = facts_of(path, f"typedef struct Reply {{\n  {fields}\n}} Reply;\n")

    assert [one.name for one in facts.members["Reply"]] == [*"abcdefg"]


@pytest.mark.parametrize(
    ("path", "text", "members"),
    [
        ("A.java", "class A { I i = new I() { int y; public void f() {} };\nint g;\n}", "i g"),
        ("A.java", "record A(int x, String y) { int f() {} }", "x y f"),
        ("A.java", "enum A { B { void f() {} }; abstract void g(); }", "B g"),
        ("A.kt", "class A {\n  val x = object : B {\n    fun f() {}\n  }\n  fun g() {}\n}", "x g"),
        ("A.scala", "class A { val x = new B { def f = 1 }; def g = 2 }", "x g"),
        ("A.cs", "record A(int X) { int Y; }", "X Y"),
        ("a.js", "class A { x = class { f() {} }; g() {} }", "x g"),
        ("a.ts", "class A { x = class { f() {} }; constructor(private y: Y, z: Z, readonly w = 1) {} }",
         "x constructor y w"),
        ("a.ts", "export enum A { X, Y = 2, 'z-z', 'w' = 3 }", "X Y z-z w"),
        ("a.php", "<?php\nclass A { function __construct(private int $x, int $y) {} }", "__construct x"),
        ("a.h", "struct A { bool operator()(int); int operator[](int i) { return i; }\n  char *(*f)(void*); };",
         "operator() operator[] f"),
        ("a.h", "class A {\n  int x GUARDED_BY(m);\n  void f() LOCKS_EXCLUDED(m) {}\n};", "x f"),
        ("a.rb", "class A < Thor\n  desc 'install NAME', 'x'\n  def [](x); end\n  def []=(x, y); end\nend", "[] []="),
    ],
)  # fmt: skip
def test_the_members_of_a_class_are_its_own_and_have_their_names(path: str, text: str, members: str) -> None:
    assert [one.name for one in facts_of(path, text + "\n").members["A"]] == members.split()


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.h", "class FOO_EXPORT A final : public B {\n  int x;\n};", {"A": ("B",)}),
        ("a.h", "class wxDLLIMPEXP_CORE A : public ns::B<int> {};", {"A": ("ns.B",)}),
        ("a.h", "struct FOO_API FOO_ALIGN(16) A : virtual protected B, private C<D, 3> {};", {"A": ("B", "C")}),
        ("a.h", "template <class T, class U> class A final : public B<T> {};", {"A": ("B",)}),
        ("a.h", 'class __attribute__((visibility("default"))) A : public B {};', {"A": ("B",)}),
        ("a.h", "namespace a::b { inline namespace v1 { class A : public B {}; } }", {"A": ("B",)}),
        ("a.h", "class FOO_EXPORT B;\nclass C;\nclass A::Inner : public B {};", {"A.Inner": ("B",)}),
        ("a.h", "class A : public QObject {\n  Q_OBJECT\n public Q_SLOTS:\n  void f();\n Q_SIGNALS:\n  void g();\n};",
         {"A": ("QObject",)}),
        ("a.h", "FOO_BEGIN_NAMESPACE\n\nclass A : public B {\n  void f() FOO_OVERRIDE;\n  EVENT_TABLE()\n};",
         {"A": ("B",)}),
        ("a.h", "FOO_NAMESPACE_BEGIN\n\n/// A.\ntemplate<typename T>\nclass A : public ::ns::B<T> {\n  FOO_PRIVATE:\n"
         "  int x;\n};\nFOO_NAMESPACE_END", {"A": (".ns.B",)}),
        ("a.h", "class A : public B {\n  A() ACQUIRE(m) : x(1) {}\n  void f() EXCLUSIVE_LOCKS_REQUIRED(m);\n"
         "  int x GUARDED_BY(m) = 0;\n};", {"A": ("B",)}),
        ("a.cc", "class A {\n  A(int x)\n      :\n#if !defined(NDEBUG)\n        y_(x),\n#endif  // NDEBUG\n"
         "        x_(x) {}\n};\nclass C : B {};", {"A": (), "C": ("B",)}),
        ("a.h", "template<typename T>\n#if FOO\n  constexpr\n#endif\nT f() { return 1; }\nclass A : B {};",
         {"A": ("B",)}),
        ("a.h", "class A {\n  struct : B { int x; } b;\n  static int f() { struct C : D {}; }\n};",
         {"A": (), "A.f.C": ("D",)}),
        ("a.cc", "int A::f() {\n  class C : public D {};\n  return 1;\n}", {"A": (), "A.f.C": ("D",)}),
        ("a.h", "struct A : std::bool_constant<x && y> {};\nstruct B : bool_constant < C::x && y <= z > {};",
         {"A": ("std.bool_constant",), "B": ()}),
        ("A.cs", "class A : B, I\n#if ASYNC\n    , IAsync\n#endif\n{\n    int x;\n}", {"A": ("B", "I", "IAsync")}),
        ("A.cs", "interface A {\n#if X\n    [F]\n#endif\n    A G()\n#if X\n        => new B()\n"
         "            .G()\n#endif\n    ;\n"
         "    A H()\n#if X\n    {\n        return this;\n    }\n#else\n        ;\n#endif\n}\nclass C : A {}",
         {"A": (), "C": ("A",)}),
        ("A.cs", "class A : B\n{\n    A(\n        int x,\n#if X\n        int y,\n#endif\n        int z) { }\n"
         "#if X\n    public void F(int x)\n#else\n    public void F()\n#endif\n    {\n    }\n"
         "    C[] c = {\n        D,\n#if X\n        E, F\n#endif\n    };\n}", {"A": ("B",)}),
        ("A.cs", "class A : global::B.C, I {}", {"A": (".B.C", "I")}),
        ("A.swift", "final class A: B, @unchecked Sendable where T: C {}", {"A": ("B", "Sendable")}),
        ("A.swift", "protocol A: B, ~Copyable {}\nstruct C: ~Copyable {}", {"A": ("B",), "C": ()}),
        ("A.swift", "class A: B {\n  func f(x: X) {\n    switch x {\n    #if os(iOS)\n    case .a: break\n    #endif\n"
         "    default: break\n    }\n  }\n}", {"A": ("B",)}),
        ("A.swift", "class A: B {\n  private nonisolated(unsafe) var x = 1\n  func f() { g(~first) }\n}",
         {"A": ("B",)}),
        ("A.swift", "class A { func f() { final class C: D {} } }", {"A": (), "A.f.C": ("D",)}),
        ("A.scala", "class A(x: Int)(using y: Y) extends B(x), C derives Eq", {"A": ("B", "C")}),
        ("A.scala", "trait A[+T] extends q.B[T] with C#D with E { self: F => }", {"A": ("q.B", "C.D", "E")}),
        ("A.scala", "package object a extends B\ncase object C extends D", {"a": ("B",), "C": ("D",)}),
        ("A.scala", "enum A derives Eq { case B extends A; case C(x: Int) extends A with M }", {"A": ()}),
        ("A.scala", "class A { val b = new B with C { class D extends E }; sealed class <:<[F] extends G }",
         {"A": (), "A.D": ("E",), "A.<:<": ("G",)}),
        ("A.scala", "case class ::[B](head: B) extends List[B]\nobject `+:` extends a.::[X] with ::[Y]",
         {"::": ("List",), "+:": ("a.::", "::")}),
        ("A.scala", "class A { def f = { class C extends D; new C } }", {"A": (), "A.f.C": ("D",)}),
        ("A.kt", "class A : B(), C by d {\n  val e = object : F() { }\n  private val g = object : H { }\n}",
         {"A": ("B", "C")}),
        ("A.kt", "sealed interface A<T : X> : B<T>, (Int) -> Unit where T : Y\ndata object C : A<Int>",
         {"A": ("B",), "C": ("A",)}),
        ("A.kt", "interface A : @V B, @W(1) C<D>\nclass E {\n  companion object : F() { }\n}\n"
         "class G {\n  companion object H : I\n}", {"A": ("B", "C"), "E": (), "G": (), "G.H": ("I",)}),
        ("A.kt", "class A { fun f() { class C : D() } }", {"A": (), "A.f.C": ("D",)}),
        ("A.kt", "@Target(CLASS)\nannotation class A\n\nactual class C\ninternal actual constructor(\n  val x: Int,\n"
         ") : B()", {"A": (), "C": ("B",)}),
        ("A.java", "class A { void f() { class C extends D<E> implements F {} } }", {"A": (), "A.f.C": ("D", "F")}),
        ("a.rb", "A = Class.new(B::C)\nD = Class.new(E) do\n  include F\nend\nG = Class.new { }",
         {"A": ("B.C",), "D": ("E", "F"), "G": ()}),
        ("a.rb", "A = Struct.new(:x, :y) do\n  include F\nend\nclass B < Struct.new(:z); end",
         {"A": ("Struct", "F"), "B": ("Struct",)}),
        ("a.rb", "class A < DelegateClass(B)\n  extend self\nend\nclass C < D::E[6.1]; end", {"A": (), "C": ("D.E",)}),
        ("a.rb", "class A\n  class << self\n    include B\n  end\n  module C\n    extend D, E::F\n  end\nend",
         {"A": ("B",), "A.C": ("D", "E.F")}),
        ("a.dart", "abstract base class A<T extends X> extends p.B<T> with C, D<E> implements F {}\n"
         "mixin G on H implements I {}\nextension type P(int i) implements Q {}"
         "\nenum J with K implements L { a }\nclass M = N with O;",
         {"A": ("B", "C", "D", "F"), "G": ("H", "I"), "P": ("Q",), "J": ("K", "L"), "M": ("N", "O")}),
        ("a.ex", "defmodule A.B do\n  use C.D, x: 1\n  @behaviour E\n  defmodule F do\n    @behaviour G.H\n  end\nend",
         {"A.B": ("C.D", "E"), "A.B.F": ("G.H",)}),
        ("a.ex", "defprotocol A do\nend\ndefimpl A, for: B.C do\nend", {"A": (), "B.C": ("A",)}),
        ("a.ex", "defmodule A do\n  defimpl String.Chars do\n    def to_string(a), do: a\n  end\nend",
         {"A": ("String.Chars",)}),
        ("a.ex", "defimpl A, for: [B, C.D, __MODULE__.E] do\n  use F\nend", {"B": ("A",), "C.D": ("A",)}),
        ("a.ex", "defmodule A do\n  defmodule unquote(b) do\n    use C\n  end\nend", {"A": ()}),
        ("a.php", "<?php\nclass A extends \\A implements \\B\\C { use \\D; }", {"A": (".A", ".B.C", ".D")}),
        ("a.php", "<?php\nclass A extends B { function f() { return new class extends C implements D { use T; }; } }",
         {"A": ("B",)}),
    ],
)  # fmt: skip
def test_the_bases_of_a_class_are_those_in_its_head(name: str, head: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert {one.name: one.bases for one in facts_of(name, head + "\n").classes} == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.kt", "class A(val x: Int) : B() by by C {\n  class D : E()\n}", {"A": (), "A.D": ("E",)}),
        ("a.kt", "class A : B {\n  fun f() {\n    while (x && !final) {\n      if (y) {\n        final = true\n"
         "        g()\n        break\n      } else {\n        h()\n      }\n    }\n  }\n  fun k() {}\n}",
         {"A": ("B",)}),
        ("a.java", "@Some(x = = 1) class A extends B {}", {"A": ("B",)}),
        ("a.java", "class A extends B implements C, , D { class E extends F {} }", {"A": (), "A.E": ("F",)}),
        ("a.java", "class A extends B { void f() { int = ; } class E extends F {} }", {"A": ("B",), "A.E": ("F",)}),
        ("a.cs", "class A : B, , C { }\nclass D : E { }", {"A": (), "D": ("E",)}),
        ("a.swift", "class A: B, , C { }\nclass D: E { }", {"A": (), "D": ("E",)}),
        ("a.scala", "class A extends B with with C { class D extends E }", {"A": (), "A.D": ("E",)}),
        ("a.dart", "class A extends %% B {}\nclass D extends E {}", {"A": (), "D": ("E",)}),
        ("a.cc", "class A : public B, , public C { int x; };\nclass D : E {};", {"A": (), "D": ("E",)}),
        ("a.rs", "trait A: B + + C { }\ntrait D: E {}\nimpl F for , G {}", {"A": (), "D": ("E",), "G": ()}),
        ("a.php", "<?php\nclass A extends B implements C, , D { }\nclass D extends E { }", {"A": (), "D": ("E",)}),
        ("a.php", "<?php\nclass A { use B; use C, , D; use E; }", {"A": ("B", "E")}),
        ("a.php", "<?php\nclass A { use B; %% use C; }", {"A": ("B",)}),
        ("a.go", "package a\ntype A struct {\n\tB\n\t%%\n\tC\n}\ntype D struct {\n\tE\n}", {"A": ("B",), "D": ("E",)}),
        ("a.rb", "class A\n  include B\n  include C, , D\n  include E\nend", {"A": ("B", "E")}),
        ("a.js", "class A extends B %% C { }\nclass D extends E { f() { = } }", {"A": (), "D": ("E",)}),
        ("a.ts", "class A extends B implements C, , D { }\ninterface F extends G, , H { }", {"A": (), "F": ()}),
    ],
)  # fmt: skip
def test_bases_are_unknown_where_the_code_around_them_does_not_parse(
    name: str, text: str, expected: dict[str, tuple[str, ...]]
) -> None:
    assert {one.name: one.bases for one in facts_of(name, f"{text}\n{PADDING}").classes} == expected


@pytest.mark.parametrize("language", [one for one in code_languages().values() if one.unknown])
@pytest.mark.parametrize(
    "text",
    [
        "class " * 10**5,
        "class " + "a " * 10**5,
        "struct " + "AB(" * 10**5,
        "AB_" * 10**5,
        ("A" * 90 + " ") * 3000,
        "#if A\n  f()\n#else\n" * 10**4,
        ",\n#if A\n  f(),\n" * 10**4,
    ],
)
def test_code_that_a_grammar_does_not_know_is_found_in_linear_time(language: CodeLanguage, text: str) -> None:
    """Quadratic time would take hours."""
    readable = language.readable(text.encode())

    assert len(readable) == len(text)


@pytest.mark.parametrize("name", ["A.vue", "A.svelte"])
def test_the_script_of_a_component_is_parsed_and_the_rest_is_kept(name: str) -> None:
    text = f"""<template>
  <p>{BODY}</p>
</template>
<script lang="ts">
// {BODY}
function greet(name: string): void {{}}
</script>
<style>
p {{ color: red }} /* {BODY} */
</style>
"""
    chunks = chunks_in(name, text)

    assert symbols(chunks) == [("A",), ("greet",), ()]
    assert {number for one in chunks for number in range(one.lines[0], one.lines[1] + 1)} == set(range(1, 11))


def lost_lines(language: str, text: str) -> list[int]:
    """Return the lines with text that no section of a file in this language covers."""
    name = code_languages()[language].files[0]
    parsed = parse(document(f"a{name}" if name.startswith(".") else name, text))
    covered = {number for one in parsed.sections for number in range(one.first, one.last + 1)}
    return [number for number, line in enumerate(text.split("\n"), 1) if line.strip() and number not in covered]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "text", ["{" * 100_000, "([" * 3_000, "class A {\n" * 1_000, "1 + " * 4_000, "\ufffd\ufffd\n" * 1000, "", "\n"]
)
def test_hostile_code_is_indexed_either_by_structure_or_as_text(language: str, text: str) -> None:
    assert lost_lines(language, "\n".join(text[at : at + 10_000] for at in range(0, len(text), 10_000))) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_damaged_code_loses_no_line(language: str) -> None:
    shuffled = list(rendered(language) + target_of(language).read_text(encoding="utf-8"))
    random.Random(1).shuffle(shuffled)

    assert lost_lines(language, "".join(shuffled)) == []


def test_configuration_is_split_by_its_keys() -> None:
    text = f"""# What the service does. {BODY}
server:
  # {BODY}
  port: 80
  host: localhost
  tls:
    certificate: a  # {BODY}
    key: b
    versions: {BODY}
    curves: {BODY}
    more: {BODY}
    rest: {BODY}
  limits:
    requests: {BODY}
    seconds: 30  # {BODY}
    more: {BODY}
database:
  url: {BODY}
"""
    chunks = chunks_in("config/app.yaml", text)

    headings = [one.heading for one in chunks]
    assert ("server", "tls") in headings
    assert ("server", "limits") in headings
    assert headings[-1] == ("database",)
    assert next(one for one in chunks if "server.limits.seconds" in one.symbols).heading == ("server", "limits")


@pytest.mark.parametrize(
    ("path", "text", "family", "package"),
    [
        ("go.mod", "// app\nmodule example.com/app/v2\n\ngo 1.22\n", "manifest:go", "example.com/app/v2"),
        ("a/Cargo.toml", '[package]\nname = "my-app"\n', "manifest:rust", "my-app"),
        ("a/package.json", '{"name": "@scope/app", "main": "src/index.js"}', "manifest:node", "@scope/app"),
        ("tsconfig.base.json", '{"compilerOptions": {"baseUrl": "src", /* c */ "paths": {"@/*": ["a/*"],}}}',
         "manifest:tsconfig", "src"),
    ],
)  # fmt: skip
def test_a_manifest_names_the_project_for_imports(path: str, text: str, family: str, package: str) -> None:
    facts = facts_of(path, text)

    assert (facts.family, facts.package) == (family, package)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{" * 10_000, '{"name": 1}', '{"compilerOptions": 3}', "\0", '"' + '\\"' * 200_000, "/*" * 200_000],
)
def test_a_broken_manifest_is_indexed_without_a_name(text: str) -> None:
    for name in ("go.mod", "Cargo.toml", "package.json", "tsconfig.json"):
        assert not facts_of(name, text).package
