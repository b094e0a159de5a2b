"""Digests: excerpt, tags, rules with their lines, and the paths that a PRP names."""

import time
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.text import clip
from lore_etl.digest import LONGEST, LONGEST_TAG, MAX_TAGS, Digest, Spec, digest
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import Source, SourceContext

PRP = "PRPs/executed/PRP-7-task.md"
MEMORY = ".serena/memories/guide.md"
PATTERN = "examples/patterns/retry.py"
RULES = ".ce/RULES.md"
LINES = st.lists(
    st.sampled_from(["", "text and words " * 4, "# A", "## B", "```", "Tags: a", "- ✅ x" * 3, "---", "a: b"])
)


@cache
def source_of(path: str) -> Source:
    found = SourceSet(SourceContext([path], lambda _: None), {}).owner(path)
    assert found is not None
    return found


def of(path: str, text: str) -> Digest:
    found = digest(source_of(path).document(path, text))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("---\ntags: [api, error, fastapi]\n---\n# Content\n\nTags: other\n", ("api", "error", "fastapi")),
        ("---\ntags: api,  error handling\n---\n", ("api", "error handling")),
        ("---\ntags:\n- L1-L4\n- 2024\n- L1-L4\n- [x]\n- true\n---\n", ("L1-L4", "2024")),
        ("---\ntags: []\n---\nTags: a\n\n## B\n", ()),
        ("---\nname: x\n---\ntags: api, error\n", ("api", "error")),
        ("# A\n\n**Tags:** `api`, #error , [deep]\n\n## B\n", ("api", "error", "deep")),
        ("# A\n\n> - Tag: one\n", ("one",)),
        ("# A\n\nHashtags: no\n\nsome tags: no\n\n## Yes\n", ("yes",)),
        ("# A\n\n```yaml\ntags: [no]\n```\n\n## Yes\n", ("yes",)),
        ("# A\n\nTags: **\n\n## Yes\n", ("yes",)),
        ("# A\n\n## 🎯 One *Two*\n\n### Three\n\n#### No\n\n## Four\n\n## Five\n", ("one two", "three", "four")),
        ("no headings, and nothing said\n", ()),
    ],
)
@pytest.mark.requirement("KM-019")
def test_29_3_tags_come_from_front_matter_or_a_tag_line_or_headings(text: str, tags: tuple[str, ...]) -> None:
    assert of(MEMORY, text).tags == tags


@pytest.mark.parametrize(
    "text",
    ['"""Doc.\n\nTags: a, b\n"""\n', "# Doc.\n# Tags: a, b\n", "'''Tags: a, b'''\nx = 1\n", "# tag: a,b\n## No\n"],
)
def test_tags_of_code_come_from_a_comment_and_not_from_headings_or_the_path(text: str) -> None:
    assert of(PATTERN, text).tags == ("a", "b")
    assert of(PATTERN, "## Not a heading\nx = 1\n").tags == ()
    assert of("home/me/examples/patterns/x.md", "# Title\n\nText.\n").tags == ()  # nor from the path


def test_invalid_front_matter_falls_back_to_the_other_sources_of_tags() -> None:
    text = "---\ntags: [a\n---\n# Title\n\nThe paragraph that says something.\n\n## Topic\n"
    document = source_of(MEMORY).document(MEMORY, "\n" + text)

    found = digest(replace(document, text=text))  # like a sync that reads a file with invalid front matter

    assert found is not None
    assert found.tags == ("topic",)


@pytest.mark.parametrize(
    ("path", "text", "excerpt"),
    [
        (MEMORY, "# A title of over twenty characters\n\nshort\n\nThe paragraph that says it.\nOn two lines.\n\nx\n",
         "The paragraph that says it. On two lines."),
        (MEMORY, "---\nname: x\n---\n# T\n\n```\ncode that is not\n```\n\n**Bold** [link](a.md) and `code` are said.\n",
         "Bold link and code are said."),
        (MEMORY, "# T\n\n> - A quoted item of a list, said\n\n---\n", "A quoted item of a list, said"),
        (MEMORY, "# T\n\n---\n\nshort\n", "short"),
        (MEMORY, "# Only a title\n", "Only a title"),
        (MEMORY, "", ""),
        (PATTERN, '#!/usr/bin/python\n# -*- coding: utf-8 -*-\n"""Retries what failed, with a pause."""\n\nimport x\n',
         "Retries what failed, with a pause."),
        (PATTERN, "# Retries what failed.\n# With a pause between.\nimport time\n",
         "Retries what failed. With a pause between. import time"),
        ("examples/patterns/a.ts", "/**\n * Retries what failed, with a pause.\n */\n\nexport const a = 1\n",
         "Retries what failed, with a pause."),
    ],
)  # fmt: skip
@pytest.mark.requirement("KM-020")
def test_29_3_the_excerpt_is_the_first_meaningful_paragraph(path: str, text: str, excerpt: str) -> None:
    assert of(path, text).excerpt == excerpt


@given(st.text(max_size=600), st.integers(1, 250))
def test_a_shortened_text_stays_within_its_limit_and_ends_with_a_whole_word(text: str, limit: int) -> None:
    plain = " ".join(text.split())

    cut = clip(text, limit)

    assert len(cut) <= max(limit, 1)
    assert cut == plain or cut.endswith("…")
    kept = cut.removesuffix("…") if cut != plain else cut
    assert plain.startswith(kept)
    if kept != plain and " " in plain[:limit]:
        assert plain[len(kept)] in " ,;:"


@given(LINES.map("\n".join) | st.text(max_size=300))
def test_the_digest_of_any_text_stays_within_its_limits(text: str) -> None:
    for path in (PRP, MEMORY, PATTERN, RULES):
        found = of(path, "\n" + text)
        assert len(found.excerpt) <= LONGEST
        assert len(found.tags) <= MAX_TAGS
        assert all(0 < len(tag) <= LONGEST_TAG and tag == " ".join(tag.split()) for tag in found.tags)
        assert Digest.model_validate_json(found.model_dump_json()) == found


@pytest.mark.requirement("KM-021", "KM-024")
def test_29_3_rules_have_their_line_numbers() -> None:
    text = (
        "---\nname: Rules\n---\n# Rules\n\n- ✅ **Fast Failure**: Let exceptions bubble up\n"
        "- ❌ Fishy `fallbacks` that hide\n"
        "- ✅ ok\n\n```\n# ❌ an example of what is wrong\n```\n\nMANDATORY: test it\nIt is required to read.\n"
        "a FORBIDDEN thing\n| ✅ yes indeed | ❌ no |\n"
    )

    found = [(rule.line, rule.text) for rule in of(RULES, text).rules]

    assert found == [
        (6, "Fast Failure: Let exceptions bubble up"),
        (7, "❌ Fishy fallbacks that hide"),
        (14, "MANDATORY: test it"),
        (16, "a FORBIDDEN thing"),
        (17, "| yes indeed | ❌ no |"),
    ]
    assert of(RULES, "✅ " + "word " * 500).rules[0].text == "word " * 39 + "word…"


@pytest.mark.requirement("KM-017", "KM-018")
def test_29_3_a_prp_names_the_files_that_implement_it() -> None:
    text = (
        "---\nprp_id: PRP-7\nstatus: executed\nimplementations: [ce/core.py, 5, 'two words']\n"
        "context_sync:\n  ce_updated: true\n---\n# T\n\n**File:** `syntropy-mcp/src/indexer.ts`\n"
        "- **Location**: `ce/drift.py:12-40`\n"
        "File: ./ce/plain.py and more\n1. File: `setup.py`\n**Files:** `ce/a.py`, `ce/b.py` with `json.dumps`\n\n"
        "**Files Modified:**\n\n- `ce/one.py` (new)\n- ce/two.py\n- nothing\n\nProse ends the list.\n- `ce/no.py`\n\n"
        "The file: see above.\nLocation: Berlin.\nFile: `https://example.com/x.py`\n"
        "\n```\n**File:** `ce/shown.py`\n```\n"
        "**File:** `src/tools/`\n"
    )

    found = of(PRP, text).spec

    assert found is not None
    assert (found.id, found.status, found.verified) == ("PRP-7", "executed", True)
    assert found.implementations == (
        "ce/core.py", "syntropy-mcp/src/indexer.ts", "ce/drift.py", "ce/plain.py", "setup.py", "ce/a.py", "ce/b.py",
        "ce/one.py", "ce/two.py", "src/tools",
    )  # fmt: skip
    assert of(PRP, "# T\n").spec == Spec()  # without front matter it is not verified and has no id


def test_a_prp_names_patterns_in_prose_and_code_but_promises_them_only_in_prose() -> None:
    text = (
        "# T\n\nSee ./examples/patterns/api.py, `../.ce/examples/system/patterns/error-recovery.md`, and `retry`.\n"
        "A retry is tried. e.g. examples/patterns/*.py\n\n```\ncat examples/shown.md some_name\n```\n"
    )

    found = of(PRP, text).spec

    assert found is not None
    assert found.examples == ("examples/patterns/api.py", ".ce/examples/system/patterns/error-recovery.md")
    names = found.names.split(" ")
    assert {"examples/patterns/api.py", "retry", "examples/shown.md", "some_name"} <= set(names)
    assert "tried" not in names


def test_code_and_guides_get_no_digest() -> None:
    for path in ("src/app.py", "docs/guide.md", "tests/test_a.py"):
        assert digest(source_of(path).document(path, "# Text\n")) is None


@pytest.mark.parametrize(
    "piece",
    ["*", "- ", "tags", "tags:", "# ", "`", "[", "[]( ", "./", "examples/", "a/", ".", "File: ", "✅", "> ", "-", " "],
)
def test_hostile_lines_are_digested_in_linear_time(piece: str) -> None:
    text = piece * (400_000 // len(piece)) + "x"
    for path in (PRP, RULES, PATTERN):
        document = source_of(path).document(path, "\n" + text)
        started = time.thread_time()
        digest(document)
        assert time.thread_time() - started < 10  # a limit against endless runs: quadratic code takes minutes
