"""Answer which version of its language a project needs, or which license it has, in the words of its manifest."""

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from lore_etl.index import Index
from lore_server.answer.class_questions import DefinedPlace, Fact
from lore_server.query.wording import wording
from lore_server.replies.paging import whole_lines

MOST = 3  # manifests
_FORM = wording("manifests")
_LINES = {
    "python": ("pyproject.toml setup.cfg setup.py", r"\s*((?:requires-python|python_requires|python)\s*=.*)"),
    "go": ("go.mod", r"(go\s+\d.*)"),
    "rust": ("Cargo.toml", r"(rust-version\s*=.*)"),
    "node": ("package.json", r'\s*("node"\s*:\s*"[<>=~^v]*\s*\d.*)'),
    "php": ("composer.json", r'\s*("php"\s*:.*)'),
    "ruby": ("*.gemspec", r"\s*(\w+\.required_ruby_version\b.*)"),
    "license": (
        "pyproject.toml setup.cfg setup.py Cargo.toml package.json composer.json *.gemspec *.podspec *.csproj mix.exs",
        r"""\s*((?:\w+\.)?["']?licen[cs]es?["']?\s*[:=].*|<PackageLicenseExpression>.*)""",
    ),
}
"""The manifests of each language, and their lines with its version; those of all languages, and their license."""


def is_project(name: str, index: Index) -> bool:
    """Return whether a name is that of the project: of its folder, or the last word of the title of a README."""
    readmes = (path for path in index.catalogue.paths() if path.casefold().startswith("readme"))
    titles = [index.root.name, *(index.catalogue.of_source(path)[0].title for path in readmes)]
    ends = (re.split(r"[^\w\s.-]", title)[0].casefold().split()[-1:] for title in titles)
    return name.casefold() in ("it", "this", "project") or [name.casefold()] in ends


def manifest_fact(question: str, index: Index) -> Fact | None:
    """Return what the manifests nearest to the root say; None for other questions, or if none says it."""
    asked, asks_license = _FORM["version"].fullmatch(question), _FORM["license"].fullmatch(question)
    if not (asked or asks_license) or (asks_license and not is_project(asks_license["name"] or "it", index)):
        return None
    wanted = asked["language"].casefold() if asked else "license"
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
    texts = [f"{path} has `{said}` {{{n}}}" for n, (path, _, said) in enumerate(found, start=1)]
    places = tuple(DefinedPlace(names[path], path, (line, line)) for path, line, _ in found)
    return Fact(f"{' and '.join(texts)}.", places) if found else None
