"""Answer what a project is, its license, and which version of its language it needs, in the words of its manifest."""

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from lore_etl.index import Index
from lore_server.answer.class_questions import DefinedPlace, Fact
from lore_server.query.reference import is_project
from lore_server.query.wording import wording
from lore_server.replies.paging import whole_lines

MOST = 3  # manifests
_FORM = wording("manifests")
_ALL = "pyproject.toml setup.cfg setup.py Cargo.toml package.json composer.json *.gemspec *.podspec *.csproj mix.exs"
_LINES = {
    "python": ("pyproject.toml setup.cfg setup.py", r"\s*((?:requires-python|python_requires|python)\s*=.*)"),
    "go": ("go.mod", r"(go\s+\d.*)"),
    "rust": ("Cargo.toml", r"(rust-version\s*=.*)"),
    "node": ("package.json", r'\s*("node"\s*:\s*"[<>=~^v]*\s*\d.*)'),
    "php": ("composer.json", r'\s*("php"\s*:.*)'),
    "ruby": ("*.gemspec", r"\s*(\w+\.required_ruby_version\b.*)"),
    "license": (_ALL, r"""\s*((?:\w+\.)?["']?licen[cs]es?["']?\s*[:=].*|<PackageLicenseExpression>.*)"""),
    "purpose": (_ALL, r"""\s*((?:\w+\.)?["']?description["']?\s*[:=].*|<Description>.*)"""),
}
"""The manifests of each language, and their lines with its version; those of all languages, about the project."""


def manifest_fact(question: str, index: Index) -> Fact | None:
    """Return what the manifests nearest to the root say; None for other questions, or if none says it."""
    asked = {what: match for what, form in _FORM.items() if (match := form.fullmatch(question))}
    if not asked or ("license" in asked and not is_project(asked["license"]["name"] or "it", index)):
        return None
    wanted = asked["version"]["language"].casefold() if "version" in asked else next(iter(asked))
    files, form = next(found for name, found in _LINES.items() if wanted.startswith(name))
    names = {path: PurePosixPath(path).name for path in index.catalogue.types()}
    own = (path for path, name in names.items() if any(fnmatchcase(name, file) for file in files.split()))
    depths = {path: path.count("/") for path in own}
    found = [
        (path, n, said[1].rstrip(" ,"))
        for path in sorted(depths, key=lambda path: (depths[path], path))
        for n, line in enumerate(whole_lines(index.catalogue.of_source(path)), start=1)
        if (said := re.match(form, line))
    ]
    found = [one for one in found if depths[one[0]] == depths[found[0][0]]][:MOST]
    texts = [f"{path} has `{said}` [{n}]" for n, (path, _, said) in enumerate(found, start=1)]
    places = tuple(DefinedPlace(names[path], path, (line, line)) for path, line, _ in found)
    return Fact(f"{' and '.join(texts)}.", places) if found else None
