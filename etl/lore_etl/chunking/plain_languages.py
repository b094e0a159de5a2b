"""The languages without a grammar. Their files are split at blank lines; words and vectors find them."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath

PLAIN_LANGUAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "ada": ("Ada", (".adb", ".ads")),
    "assembly": ("Assembly", (".asm", ".s", ".S")),
    "awk": ("AWK", (".awk",)),
    "batch": ("Batch", (".bat", ".cmd")),
    "autotools": ("Autotools", ("configure.ac", "configure.in", ".m4")),
    "bicep": ("Bicep", (".bicep",)),
    "clojure": ("Clojure", (".clj", ".cljs", ".cljc", ".edn")),
    "cmake": ("CMake", ("CMakeLists.txt", ".cmake")),
    "cobol": ("COBOL", (".cob", ".cbl")),
    "crystal": ("Crystal", (".cr",)),
    "css": ("CSS", (".css", ".scss", ".sass", ".less")),
    "cue": ("CUE", (".cue",)),
    "cython": ("Cython", (".pyx", ".pxd", ".pxi")),
    "elm": ("Elm", (".elm",)),
    "erlang": ("Erlang", (".erl", ".hrl")),
    "fish": ("Fish", (".fish",)),
    "fortran": ("Fortran", (".f90", ".f95", ".f03", ".f08")),
    "fsharp": ("F#", (".fs", ".fsi", ".fsx")),
    "gdscript": ("GDScript", (".gd",)),
    "gomod": ("Go module", ("go.mod",)),
    "graphql": ("GraphQL", (".graphql", ".graphqls", ".gql")),
    "groovy": ("Groovy", (".groovy", ".gradle", "Jenkinsfile")),
    "haskell": ("Haskell", (".hs", ".lhs")),
    "haxe": ("Haxe", (".hx",)),
    "jsonnet": ("Jsonnet", (".jsonnet", ".libsonnet")),
    "julia": ("Julia", (".jl",)),
    "just": ("Just", ("justfile", "Justfile", ".just")),
    "lisp": ("Lisp and Scheme", (".lisp", ".cl", ".el", ".scm", ".ss", ".rkt")),
    "meson": ("Meson", ("meson.build", "meson_options.txt", "meson.options")),
    "nim": ("Nim", (".nim",)),
    "nix": ("Nix", (".nix",)),
    "objectivec": ("Objective-C", (".m", ".mm")),
    "ocaml": ("OCaml", (".ml", ".mli", ".mll", ".mly")),
    "pascal": ("Pascal", (".pas", ".pp", ".dpr")),
    "perl": ("Perl", (".pl", ".pm", ".psgi", ".raku", ".rakumod", ".t")),
    "powershell": ("PowerShell", (".ps1", ".psm1", ".psd1")),
    "prisma": ("Prisma", (".prisma",)),
    "proto": ("Protocol Buffers", (".proto",)),
    "purescript": ("PureScript", (".purs",)),
    "r": ("R", (".r", ".R")),
    "rego": ("Rego", (".rego",)),
    "shader": ("Shaders", (".glsl", ".hlsl", ".wgsl", ".metal", ".vert", ".frag", ".comp")),
    "solidity": ("Solidity", (".sol",)),
    "starlark": ("Starlark", ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel", ".bzl", ".star")),
    "tcl": ("Tcl", (".tcl",)),
    "template": (
        "Templates",
        (".erb", ".haml", ".slim", ".hbs", ".handlebars", ".mustache", ".ejs", ".j2", ".jinja", ".jinja2", ".twig",
         ".pug", ".liquid", ".cshtml", ".razor", ".jsp", ".astro", ".tmpl"),
    ),
    "thrift": ("Thrift", (".thrift",)),
    "vala": ("Vala", (".vala", ".vapi")),
    "verilog": ("Verilog and VHDL", (".v", ".sv", ".svh", ".vhd", ".vhdl")),
    "vim": ("Vim script", (".vim",)),
    "visualbasic": ("Visual Basic", (".vb", ".bas")),
    "xml": (
        "XML",
        ("pom.xml", "build.xml", "AndroidManifest.xml", "package.xml", ".csproj", ".fsproj", ".vbproj", ".props",
         ".targets", ".xaml", ".xsd", ".wsdl"),
    ),
    "yacc": ("Yacc and Lex", (".y", ".yy", ".ypp", ".l", ".ll")),
    "zig": ("Zig", (".zig", ".zon")),
}  # fmt: skip
"""The title and the files of each language, as suffixes with their dot and as whole names."""


@cache
def _titles() -> dict[str, str]:
    return {file: title for title, files in PLAIN_LANGUAGES.values() for file in files}


def plain_title_of(path: str) -> str | None:
    """Return the title of the language of a file, if it is in this list."""
    name = PurePosixPath(path)
    return _titles().get(name.name) or _titles().get(name.suffix)


def plain_patterns() -> tuple[str, ...]:
    """Return gitignore patterns for all files in these languages."""
    return tuple(f"*{file}" if file.startswith(".") else file for file in _titles())
