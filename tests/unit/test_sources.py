import json
import re
from collections.abc import Mapping, Sequence

import pytest
from pathspec import GitIgnoreSpec

from lore_etl.core.errors import ConfigError
from lore_etl.core.frontmatter import FrontMatterError
from lore_etl.core.model import Document, FrontMatter, KnowledgeType
from lore_etl.files.ignore import Included, configured
from lore_etl.sources.inventory import MAX_ROWS, inventory
from lore_etl.sources.kinds import KINDS, SourceSet
from lore_etl.sources.source import Kind, SourceContext
from tests.golden import file_types

TYPES = {
    # rules and memories
    "CLAUDE.md": "rule", "sub/AGENTS.md": "rule", ".ce/RULES.md": "rule", "sub/.ce/RULES.md": "rule",
    ".cursorrules": "rule",
    ".github/ISSUE_TEMPLATE/bug.md": "rule", ".github/ISSUE_TEMPLATE.md": "rule", ".github/issue_template/a.md": "rule",
    ".github/PULL_REQUEST_TEMPLATE.md": "rule", "docs/pull_request_template.md": "rule",
    ".github/copilot-instructions.md": "rule", ".cursor/rules/style.mdc": "rule",
    ".serena/memories/style.md": "memory", "sub/.serena/memories/deep/a.md": "memory", "MEMORY/LEARNING/a.md": "memory",
    # specifications and decisions
    "PRPs/executed/PRP-1.md": "prp", ".ce/PRPs/system/executed/PRP-2.md": "prp", "docs/adr/0001-a.md": "adr",
    "docs/decisions/0002-b.md": "adr",
    # tickets, in the open folder, in archives by version and in later layouts
    "issues/1.md": "ticket", "sub/issues/open/1.md": "ticket", ".github/ISSUE/issue-7.md": "ticket",
    ".github/ISSUE_ARCHIVE/v1.2.3/issue-8.md": "ticket", "resources/content/issues/issue-9.md": "ticket",
    "resources/content/issues/chunk-3/issue-9.md": "ticket",
    "resources/content/issue-archive/v11.0.0/issue-10.md": "ticket", "resources/content/pulls/pr-1.md": "ticket",
    "resources/content/discussions/d-1.md": "ticket",
    # releases
    "CHANGELOG.md": "release", "CHANGES.rst": "release", "HISTORY.md": "release", "pkg/CHANGELOG": "release",
    "ChangeLog": "release", "pkg/Changes": "release", "Changelog.md": "release", "History.rst": "release",
    "vendor/zlib/ChangeLog": None, "Readme": "guide", "Install": "guide", "src/ChangeLog.java": "src",
    "src/Changes.go": "src", "docs/history.md": "guide", "changes": None,
    ".github/RELEASE_NOTES/v1.0.0.md": "release", "resources/content/release-notes/v2.0.0.md": "release",
    "doc/release_notes/2.4.0.txt": "release", "docs/releases/4.2.txt": "release", "docs/release-notes/1.rst": "release",
    "RELEASE-NOTES.txt": "release", "lib/RELEASE_NOTES.md": "release", "releases/tools.txt": "guide",
    # guides and articles
    "README.md": "guide", "docs/a.rst": "guide", "learn/guides/fundamentals/a.md": "guide", "learn/blog/a.md": "blog",
    "site/_posts/2024-01-01-a.md": "blog", "knowledge/a.md": "knowledge",
    "resources/data/deck/training/pages/2023-01-08.md": "blog", "talks/2024/a.md": "blog", "docs/slides/a.md": "blog",
    "tests/README.md": "guide",
    "README": "guide", "pkg/README.txt": "guide", "INSTALL": "guide", "README.rdoc": "guide", "NEWS": "release",
    "vendor/zlib/NEWS": None, "words.txt": "guide", "requirements.txt": None, "CMakeLists.txt": "src",
    "src/fast.pyx": "src", "theme/a.scss": "src", "lib/A.pm": "src", "R/a.R": "src", "build.gradle": "src",
    "src/main/resources/data.xml": None, "pom.xml": "src", "tests/a.hs": "test", "examples/a.zig": "example",
    "src/a.vala": "src", "scripts/title.nse": "src", "src/parse.y": "src", "configure.ac": "src",
    "analysis/a.Rmd": "guide", "README.MD": "guide", "docs/ref/models.txt": "guide", "doc/ferry.txt": "guide",
    "Documentation/git-add.txt": "guide", "tests/data/a.txt": None, "Manual.PDF": "guide", "A.JAVA": "src",
    # pages, notebooks and other documents
    "README.adoc": "guide", "notes/a.org": "guide", "paper/a.tex": "guide", "train.ipynb": "guide",
    "docs/api/index.html": "guide", "index.html": "src", "app/templates/base.htm": "src", "tests/page.html": "test",
    "examples/demo.ipynb": "example", "vendor/a/CHANGES.adoc": None,
    # code
    "src/core/Base.mjs": "src", "apps/portal/app.mjs": "src", "ai/server.mjs": "src", "lib/a.ts": "src",
    "a.tsx": "src", "pkg/m.py": "src", "m.pyi": "src", "main.go": "src", "openapi.yaml": "src", "CHANGELOG.py": "src",
    "docs/output/all.json": "src", "docs/conf.py": "src",
    ".ce/examples/system/patterns/test_plan.py": "example", ".ce/examples/adr/a.md": "example",
    "examples/patterns/test_plan.py": "example", "examples/patterns/knowledge/a.md": "example",
    ".ce/PRPs/system/templates/a.md": "prp", "examples/PRPs/PRP-3.md": "prp", ".ce/examples/PRPs/a.md": "example",
    "examples/button/app.mjs": "example", "sub/examples/a.py": "example", "examples/button/README.md": "example",
    "test/playwright/a.spec.mjs": "test", "src/a.test.ts": "test", "tests/unit/test_a.py": "test",
    "conftest.py": "test", "pkg/test_b.py": "test", "src/__tests__/a.js": "test",
    "pkg/testdata/src/a/a.go": "test",
    # changelogs of other packages, and similar files
    "vendor/left-pad/CHANGELOG.md": None, "third_party/zlib/HISTORY.md": None, "docs/resources/lib/hl/CHANGES.md": None,
    "examples/toast/resources/lib/hl/CHANGES.md": None, "sub/node_modules/a/CHANGELOG.md": None,
    "vendor/left-pad/README.md": "guide", "packages/a/CHANGELOG.md": "release",
    "resources/release-notes/v1.md": "release",
    # other files
    "lib/a.min.js": None, "types/a.d.ts": "src", "web/dist/a.d.ts": None, "LICENSE.md": None, "package.json": "src",
    "package-lock.json": None, "lore.toml": None,
    "Dockerfile.prod": "src", "infra/main.tf": "src", ".github/workflows/ci.yml": "src", "Gemfile.lock": None,
    "db/skiplist_test.cc": "test", "base/file_unittest.cpp": "test", "db/latest.cc": "src", "c_test.c": "test",
    "pkg/a_test.go": "test", "src/test/java/AppTest.java": "test", "api.pb.go": None, "spec/data.json": "test",
    "logo.png": None,
    "learn/tree.json": None, "a_pb2.py": None,
}  # fmt: skip


def sources(configured: Mapping[str, Sequence[str]] | None = None, files: Mapping[str, str] | None = None) -> SourceSet:
    files = files or {}
    return SourceSet(SourceContext(list(files), files.get), configured or {})


def read(path: str, text: str, files: Mapping[str, str] | None = None) -> Document:
    source = sources(files={path: text, **(files or {})}).owner(path)
    assert source is not None
    return source.document(path, text)


def test_every_kind_of_knowledge_and_type_of_file_in_the_documentation_has_a_source() -> None:
    rows = re.findall(r"^- (?!scripts).+$", file_types.read_files(), re.MULTILINE)
    names = [name for row in rows for name in re.findall("`(.+?)`", row)]

    files = [f"name{name}" if name.startswith(".") else name.replace("**/*", "a/name") for name in names]
    left_out = {file for file in files if sources().owner(file) is None}

    assert {kind.type for kind in KINDS.values()} == set(KnowledgeType)
    assert len(files) > 200
    assert left_out == {"name.cursorrules", "name.mdc"}  # rules, which have their own places


@pytest.mark.parametrize(("path", "type_"), TYPES.items())
@pytest.mark.requirement("NEO-059")
def test_the_type_of_a_file_depends_on_its_path(path: str, type_: str | None) -> None:
    owner = sources().owner(path)

    assert (owner and owner.document(path, "text").type.value) == type_


def test_a_nested_project_has_the_same_layout_as_a_project_at_the_top() -> None:
    at_top = {path: type_ for path, type_ in TYPES.items() if not path.startswith((".cursor/", ".ce/", ".github/c"))}
    owners = {path: sources().owner(f"packages/sample/{path}") for path in at_top}

    assert {path: owner and str(owner.kind.type) for path, owner in owners.items()} == at_top


def test_configured_patterns_replace_a_layout_and_take_precedence() -> None:
    found = sources({"adrs": ["notes/**"], "tickets": ["*.ticket.md"]})

    owners = [found.owner(path) for path in ("notes/CLAUDE.md", "a.ticket.md", "issues/1.md", "docs/adr/1.md")]

    assert [owner and owner.kind.name for owner in owners] == ["adrs", "tickets", "guides", "guides"]


def test_patterns_beside_three_dots_are_added_to_the_usual_ones() -> None:
    found = sources({
        "guides": ["...", "notes/**/*.log", "!docs/old/**"], "tests": ["qa/**", "..."], "rules": ["CLAUDE.md"],
        "blogs": [],
    })  # fmt: skip
    expected = {
        "notes/a.log": "guides", "docs/a.adoc": "guides", "docs/a.ipynb": "guides", "docs/old/a.md": None,
        "issues/1.md": "tickets", "tests/test_a.py": "tests", "tests/data/a.dat": None, "tests/README.md": "guides",
        "qa/a.dat": "tests", "qa/README.md": "tests", "CLAUDE.md": "rules", "AGENTS.md": "guides",
        "blog/a.md": "guides",
    }  # fmt: skip

    owners = {path: found.owner(path) for path in expected}

    assert {path: owner and owner.kind.name for path, owner in owners.items()} == expected


SENTENCES = "Pilots wait at the northern berth.\nThe log is kept by the harbour master, who signs it.\n"
PROSE = {
    "notes.txt": SENTENCES,
    "spec/wire.txt": SENTENCES,
    "notes/ideas.txt": f"Ideas\n=====\n\n- tea\n- {SENTENCES}",
    "注.txt": "港长每天晚上签署航海日志，领航员在北泊位等候。\n",
    "protocol.txt": "Frame:\n  u8  kind\n  u16 size\n" + SENTENCES,
    "diary.txt": "2024-01-02 The ferry was late again, and nobody told the pilots.\n" * 9,
    "docs/words.txt": "alpha\nbeta\n" * 50,
    "README.txt": "x\n",
}
DATA = {
    "words.txt": "alpha\nbeta\ngamma\n" * 500,
    "deps.txt": "numpy==1.2\nscipy>=3\n" * 40,
    "key.txt": "QUJD" * 2_000,
    "run.txt": "2024-01-02 03:04:05,123 INFO The server has started and waits for requests\n" * 900,
    "numbers.txt": "1.25 2.5 3.75 4.0 5.5\n" * 500,
    "access.txt": '127.0.0.1 - - [10/Oct/2000:13:55:36] "GET / HTTP/1.0" the page of the harbour\n' * 500,
}
NO_TEXTS = (
    "requirements.txt", "dev-requirements.txt", "requirements/dev.txt", "LICENSE.txt", "robots.txt",
    "THIRD-PARTY-LICENSES.txt", "tests/data/a.txt", "testdata/a.txt", "vendor/modules.txt", "logs/a.txt",
)  # fmt: skip


@pytest.mark.parametrize("path", [*PROSE, *DATA])
def test_text_outside_of_documentation_is_a_guide_if_it_reads_like_prose(path: str) -> None:
    text = (PROSE | DATA)[path]
    usual, included = sources(), SourceSet(SourceContext([path], lambda _: None, Included(["*.txt"])), {})
    owners = [found.owner(path) for found in (usual, included, sources({"guides": ["*.txt"]}))]

    reasons = [owner.left_out(path, text) if owner else "no source" for owner in owners]

    assert reasons == ["text that reads like data or a log" if path in DATA else None, None, None]


def test_texts_for_programs_and_texts_of_others_have_no_source() -> None:
    assert {path: sources().owner(path) for path in NO_TEXTS} == dict.fromkeys(NO_TEXTS)


def test_an_unknown_source_and_a_broken_pattern_are_configuration_errors() -> None:
    with pytest.raises(ConfigError, match=r"Unknown source `sources\.ticket`") as unknown:
        sources({"ticket": ["*.md"]})
    with pytest.raises(ConfigError, match=r"`sources\.guides`: '\[z-a\]' is not a gitignore pattern"):
        sources({"guides": ["[z-a]"]})

    assert "tickets" in unknown.value.hint


@pytest.mark.requirement("NEO-058")
def test_navigation_provides_the_titles_of_guides_and_identifies_articles() -> None:
    entries = [
        {"name": "Getting started", "parentId": None, "id": "start"},
        {"name": "News", "parentId": "Blog", "id": "news/one"},
        {"name": "Without an id"},
        "no entry",
    ]
    files = {"learn/tree.json": json.dumps({"data": entries})}

    documents = [read(path, "# Heading\n", files) for path in ("learn/start.md", "learn/news/one.md", "learn/other.md")]

    assert [(document.title, document.type.value) for document in documents] == [
        ("Getting started", "guide"),
        ("News", "blog"),
        ("Heading", "guide"),
    ]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"data": 5}', '{"data": null}', '{"data": {"id": 1}}', "[" * 20_000])
def test_a_broken_navigation_is_ignored(text: str) -> None:
    assert read("learn/a.md", "# Heading\n", {"learn/tree.json": text}).title == "Heading"


def test_a_changed_navigation_entry_causes_its_guide_to_be_read_again() -> None:
    def fingerprint(name: str) -> str:
        files = {"learn/tree.json": json.dumps({"data": [{"id": "a", "name": name}]})}
        owner = sources(files=files).owner("learn/a.md")
        return owner.fingerprint("learn/a.md") if owner else ""

    assert fingerprint("One") == fingerprint("One") != fingerprint("Two")


def test_a_document_has_the_values_of_its_front_matter() -> None:
    text = "---\ntitle: Crash\nlabels: [bug, ui]\nstate: OPEN\ncreatedAt: '2024-01-02T03:04:05Z'\n---\n# Other\n"

    assert read("issues/issue-7.md", text) == Document(
        source="issues/issue-7.md",
        type=KnowledgeType.TICKET,
        text=text,
        title="Crash",
        syntax="markdown",
        front=FrontMatter("Crash", tags=("bug", "ui"), details=("OPEN",), created="2024-01-02T03:04:05Z"),
        state="open",
    )


@pytest.mark.parametrize(
    ("front", "state"),
    [
        ("state: CLOSED", "closed"),
        ("status: In Progress", "in progress"),
        ("state: closed\nmergedAt: '2024-01-02T03:04:05Z'", "merged"),
        ("merged: true", "merged"),
        ("closedAt: '2024-01-02T03:04:05Z'", "closed"),
        ("closedAt: null", None),
        ("state: [a, b]", None),
        ("state: 7", None),
        ("state: " + "x" * 99, "x" * 40),
    ],
)
def test_a_ticket_has_the_state_from_its_front_matter(front: str, state: str | None) -> None:
    text = f"---\n{front}\n---\n# Crash\n"

    assert read("issues/issue-7.md", text).state == state
    assert read("docs/a.md", text).state is None


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("---\nstatus: on hold\n---\n# A\n", "on hold"),
        ('---\nstatus: "superseded by [ADR-0012](0012-b.md)"\n---\n# A\n', "superseded by adr-0012"),
        ("# A\n\nStatus: accepted, 2024-02-03; see [b](b.md)\n", "accepted"),
        ("# A\n\nStatus: Accepted. It decides [b](b.md) again.\n", "accepted"),
        ("# A\n\n* Status: accepted <!-- optional -->\n* Date: 2024-02-03\n", "accepted"),
        ("# A\n\n- **Status**: Accepted\n", "accepted"),
        ("# A\n\n**Status:** Superceded entirely by [0072-b](0072-b.md)\n", "superceded entirely by 0072-b"),
        ("# A\n\n**Status**: [Development][d]\n", "development"),
        ("# A\n\n## Status: _Proposed_\n\n## Context\n", "proposed"),
        ("# A\n\n## Status\n\n<!-- Proposed?\nAccepted? -->\n\nAccepted\n\n## Context\n", "accepted"),
        ("# A\n\n## Status\n\n- 🟢 Accepted - 2024\n", "accepted"),
        ("# A\n\n## Status\n\nAccepted\n\nSuperceded by [10. AsciiDoc](b.md)\n", "superceded by 10. asciidoc"),
        ("# A\n\n## Status\n\n" + "x" * 99, "x" * 39 + "…"),
        ("# A\n\nStatus: Reviewed by those who sail and those who wait\n", "reviewed by those who sail and those…"),
        ("# A\n\n## Status\n\nSuperseded by #12\n", "superseded by #12"),
        ("# A\n\nStatus: accepted\n\n## Status\n\nThe server is up.\n", "accepted"),
        ("# A\n\nThe status is good. Status: accepted\n", None),
        ("# A\n\n```yaml\nstatus: on hold\n```\n", None),
        ("# A\n\n## Status\n\n```\non hold\n```\n", None),
        ("# A\n\n~~~\nstatus: on hold\n", None),
        ("# A\n\n## Status\n\n## Context\n\nAccepted\n", None),
        ("# A\n\n## Context\n\nThe server answers\n\nStatus: rejected\n", None),
        ("# A\n\n## Status codes\n\nAccepted\n", None),
        ("# A\n\n## Status\n\nWhat is the status, such as proposed, accepted, rejected?\n", None),
        ("# A\n\n* Status: [proposed | rejected | superseded by [ADR-5](b.md)]\n", None),
        ("# A\n\n## Status\n\n- Proposed on 2024-02-03\n- Accepted on 2024-02-04\n", None),
        ("# A\n\n## Status\n\n- [ ] Proposed\n", None),
        ("# A\n\n* Status: {proposed, rejected}\n", None),
        ("# A\n\nStatus: 2024-02-03\n", None),
        ("# A\n\nStatus:\n\nAccepted\n", None),
        ("---\n# status: accepted\ntitle: A\n---\n", None),
        ("---\nstatus: [accepted]\n---\n", None),
    ],
)
@pytest.mark.parametrize("path", ["docs/adr/0001-a.md", "PRPs/0001-a.md"])
def test_a_decision_or_specification_has_only_the_state_that_it_declares(
    path: str, text: str, state: str | None
) -> None:
    assert read(path, text).state == state
    assert read("docs/a.md", text).state is None


def test_titles_are_the_text_that_readers_look_for() -> None:
    titles = [
        read("issues/issue-7.md", "# Crash ##\n").title,
        read("release-notes/v1.2.0.md", "# Summer\n").title,
        read("release-notes/v1.2.0.md", "---\nname: Summer\n---\n").title,
        read("docs/plain.md", "no heading\n").title,
        read("pkg/m.py", "# comment\n").title,
        read("README", "# Harbour\n").title,
    ]

    assert titles == ["issue-7: Crash", "v1.2.0", "v1.2.0: Summer", "plain", "pkg/m.py", "Harbour"]


@pytest.mark.parametrize(("below", "title"), [("# Broken\n", "Broken"), ("Sub\n---\n", "Sub"), ("no heading\n", "a")])
def test_broken_front_matter_is_reported_and_gives_no_title(below: str, title: str) -> None:
    text = f"---\ntitle: [\n---\n{below}"

    source = sources(files={"a.md": text}).owner("a.md")
    assert source is not None
    document, problem = source.read_leniently("a.md", text)

    assert (document.title, document.text, bool(problem)) == (title, text, True)
    with pytest.raises(FrontMatterError):
        read("a.md", text)
    assert read("a.py", "---\ntags: [a]\n---\n").front == FrontMatter()  # code has none


FOLDERS = ["", "docs/", "a/tests/", "examples/", "vendor/lib/", "PRPs/done/", "@tickets/x/releases/", "a\nb/", "ö/é f/"]
NAMES = ["b.md\n", *"a.py A.PY a.pb.go a.min.js lore.toml README readme.md CHANGELOG.md a.test.ts".split()]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_quick_check_of_patterns_decides_as_git_does(kind: Kind) -> None:
    patterns, exact = configured("sources.a", kind.patterns), _exact(kind.patterns)
    paths = [*TYPES, *(folder + name for folder in FOLDERS for name in NAMES)]
    assert {path: patterns.includes(path) for path in paths} == {path: exact.match_file(path) for path in paths}


@pytest.mark.parametrize(
    "patterns",
    [["*.md", "!/docs/**", "/docs/a.md"], ["docs/", "!docs/a.md"], ["*", "!*.md", "docs/*.md"], ["!*.md"], [],
     [rf"a\ {n}[!x-z]?*.md" for n in range(3_000)]],
)  # fmt: skip
def test_the_last_pattern_that_matches_decides_about_a_file(patterns: list[str]) -> None:
    quick, exact = configured("sources.a", patterns), _exact(patterns)
    paths = ["a.md", "docs/a.md", "docs/b.md", "docs/sub/a.md", "a/docs/a.md", "a 2999bc.md", "a 2999xc.md", "a.md\n"]
    assert list(map(quick.includes, paths)) == list(map(exact.match_file, paths))


def _exact(patterns: Sequence[str]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(patterns, backend="simple")


def test_files_are_counted_by_type_and_language_and_the_others_by_extension_and_reason() -> None:
    owned = {"a.py": "src", "b.pyi": "src", "tests/a.py": "test", "main.tf": "src", "README.md": "guide"}

    counted = inventory(
        owned, dict.fromkeys(["a.png", "b.PNG", "a.min.js", "package-lock.json", "spec.pages", "LICENSE", "x.qqq"], "")
    )

    assert [(row["type"], row["language"], row["files"]) for row in counted["found"]] == [
        ("src", "Python", 2),
        ("test", "Python", 1),
        ("src", "Terraform", 1),
        ("guide", "Markdown", 1),
    ]
    assert [(row["extension"], row["reason"], row["files"]) for row in counted["left_out"]] == [
        (".png", "binary", 2),
        (".js", "minified or bundled", 1),
        (".json", "lock file", 1),
        (".pages", "document format that Lore does not read", 1),
        (".qqq", "type of file that Lore does not read", 1),
        ("LICENSE", "type of file that Lore does not read", 1),
    ]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["lore.toml", "sub/lore.toml"], "configuration of Lore"),
        (["LICENSE.rst", "words.txt"], "neither documentation nor code by its name"),
    ],
)
def test_a_file_of_a_known_type_is_left_out_for_its_name(names: list[str], reason: str) -> None:
    counted = inventory({}, dict.fromkeys(names, ""))

    assert {row["reason"] for row in counted["left_out"]} == {reason}


def test_many_extensions_are_summed_up_without_a_reason_that_is_wrong_for_some() -> None:
    many = [f"a.a{number}" for number in range(MAX_ROWS + 30)]
    alike = inventory({}, dict.fromkeys(many, ""))["left_out"]
    mixed = inventory({}, dict.fromkeys([*many[: MAX_ROWS + 5], "z.png", "z.min.js"], ""))["left_out"]

    assert len(alike) == MAX_ROWS + 1
    assert sum(row["files"] for row in alike) == MAX_ROWS + 30
    assert {row["reason"] for row in alike} == {"type of file that Lore does not read"}
    assert mixed[-1]["reason"] == "several reasons"


def test_many_languages_are_summed_up_so_that_no_file_is_missing_from_the_count() -> None:
    types = [f"type{number}" for number in range(MAX_ROWS + 5)]
    rare = {f"{type_}/a.py": type_ for type_ in types}
    owned = rare | {f"{types[-1]}/{number}.md": types[-1] for number in range(3)} | {"a.rs": types[-1]}

    found = inventory(owned, {})["found"]

    assert sum(row["files"] for row in found) == len(owned)
    assert {row["type"]: sum(other["files"] for other in found if other["type"] == row["type"]) for row in found} == {
        **dict.fromkeys(types, 1),
        types[-1]: 5,
    }
    assert found[0]["language"] == "Markdown"
    assert (found[-1]["language"], found[MAX_ROWS - 1]["language"]) == ("other", "Python")
