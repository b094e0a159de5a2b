"""Knowledge documents keep every byte; a change affects only its chapter."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lore_etl.core.errors import ChapterNotFound, InvalidArgument, InvalidContent, LoreError, SectionExists
from lore_etl.core.headings import lines_of
from lore_server.knowledge.chapter_edit import (
    ChapterName,
    NewChapter,
    add_part,
    new_document,
    remove_part,
    rewrite,
    update_part,
)
from lore_server.knowledge.document import MOST_CHAPTERS, KnowledgeDocument

NOW = "2026-01-02T03:04:05.000Z"
GUIDE = """---
title: "API: the guide"
keywords: [api, rest]
owner: {team: core, members: [a, b]}
updated: 2024-01-01T12:00:00Z # by hand
created: 2024-01-01T12:00:00Z
---

What this is about.

## Getting Started

First paragraph
over two lines.

Details.

```python
## not a chapter
```

### Setup

Install it.

## Errors

- one

## Getting Started

Again.
"""
LINES = st.sampled_from(
    [
        "## A", "## B", "### C", "#### D", "text", "", "", "text", " ", "## A", "### A", "#### C ##", "# T",
        "##### deep", "##", "#no", "   ## in", "    ## code", "```", "~~~", "````", "```py", "- ```", "  ```", "1. ~~~",
        "\t```", "---", "===", "title: x", "> ## q", "\ufeff", "keywords: [a", "updated: 2024", "{updated: x}",
        "a: &a [*a]", "é", "日本", "\x0b## A", "\u2028## A", "- a", "  b",
    ]
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
TEXTS = st.one_of(
    st.lists(st.tuples(LINES, ENDS), max_size=25).map(lambda parts: "".join(a + b for a, b in parts)),
    st.lists(st.tuples(LINES, ENDS), max_size=25).map(lambda parts: "---\n" + "".join(a + b for a, b in parts) + "x"),
    st.text(max_size=200),
)


def titles(text: str) -> list[tuple[int, str]]:
    return [(chapter.level, chapter.title) for chapter in KnowledgeDocument(text).chapters]


@pytest.mark.requirement("KB-009")
def test_a_document_is_read_with_its_front_matter_introduction_and_chapters() -> None:
    document = KnowledgeDocument(GUIDE)

    assert document.metadata.title == "API: the guide"
    assert document.metadata.keywords == ("api", "rest")
    assert document.metadata.updated == "2024-01-01T12:00:00Z"
    assert document.introduction == "What this is about."
    assert [(chapter.index, chapter.level, chapter.title, chapter.summary) for chapter in document.chapters] == [
        (0, 2, "Getting Started", "First paragraph over two lines."),
        (1, 3, "Setup", "Install it."),
        (2, 2, "Errors", ""),
        (3, 2, "Getting Started", "Again."),
    ]
    assert document.chapters[0].content.endswith("## not a chapter\n```")


def test_chapters_with_the_same_title_are_distinguished_by_index() -> None:
    document = KnowledgeDocument(GUIDE)

    assert document.chapter("Getting Started", 3).content == "Again."
    assert document.chapter(index=1).title == "Setup"
    with pytest.raises(InvalidArgument, match="2 chapters") as caught:
        document.chapter("Getting Started")
    assert "[0, 3]" in caught.value.hint
    with pytest.raises(ChapterNotFound):
        document.chapter("Getting Started", 1)
    with pytest.raises(ChapterNotFound) as missing:
        document.chapter("errors")
    assert missing.value.hint == "Index 2 is `Errors`: titles are case-sensitive."
    with pytest.raises(InvalidArgument):
        document.chapter()


def test_an_update_keeps_heading_level_subheadings_and_all_other_lines() -> None:
    text = update_part(ChapterName("Getting Started", 0), "New text.", "In short.").change(GUIDE, NOW)

    expected = GUIDE.replace("updated: 2024-01-01T12:00:00Z # by hand", f"updated: {NOW}")
    begin, end = expected.index("First paragraph"), expected.index("### Setup")
    assert text == expected[:begin] + "In short.\n\nNew text.\n\n" + expected[end:]
    assert KnowledgeDocument(text).chapters[0].summary == "In short."


def test_neither_a_summary_that_begins_the_content_nor_the_heading_of_the_chapter_is_written_twice() -> None:
    summarised = update_part(ChapterName("A"), "In short.\n\nMore.", "In short.").change("## A\n", NOW)

    assert summarised == "## A\n\nIn short.\n\nMore.\n"
    assert update_part(ChapterName("A"), "## A\n\nnew").change("## A\nold\n", NOW) == "## A\n\nnew\n"


@pytest.mark.parametrize(
    "content", ["## Other\nx", "#### ok\n\n## B", "```\nno end", "x\0y", "half \ud800", "x" * 1_000_001]
)
def test_content_that_would_affect_other_chapters_is_rejected(content: str) -> None:
    with pytest.raises(InvalidContent):
        update_part(ChapterName("Errors"), content).change(GUIDE, NOW)


def test_subheadings_are_written_with_the_content_but_not_twice() -> None:
    text = update_part(ChapterName("A"), "a\n\n### New\n\nb").change("## A\n\n### Sub\n\nx\n", NOW)

    assert titles(text) == [(2, "A"), (3, "New"), (3, "Sub")]
    with pytest.raises(SectionExists):
        update_part(ChapterName("A"), "### Sub\n\nagain").change(text, NOW)


def test_chapters_are_added_at_the_end_before_and_after_with_the_level_of_their_reference() -> None:
    chapter = (ChapterName("New"), "Text.")

    assert titles(add_part(*chapter).change(GUIDE, NOW))[-1] == (2, "New")
    assert titles(add_part(*chapter, "before", ChapterName("Errors")).change(GUIDE, NOW))[2] == (2, "New")
    after = add_part(*chapter, "after", ChapterName("Getting Started", 0)).change(GUIDE, NOW)
    assert titles(after)[2] == (2, "New")
    assert titles(add_part(*chapter, "after", ChapterName("Setup")).change(GUIDE, NOW))[2] == (3, "New")
    with pytest.raises(SectionExists):
        add_part(ChapterName("Errors"), "").change(GUIDE, NOW)
    with pytest.raises(InvalidArgument):
        add_part(*chapter, "before").change(GUIDE, NOW)


def test_a_chapter_is_removed_with_its_subchapters() -> None:
    text = remove_part(ChapterName("Getting Started", 0)).change(GUIDE, NOW)

    assert titles(text) == [(2, "Errors"), (2, "Getting Started")]
    assert text.endswith(GUIDE[GUIDE.index("## Errors") :])


@pytest.mark.parametrize(
    "title", ["C#", "Foo #", "#", "a ## b ##", "`code` & <b>", "title: x", "日本語", "\\", "a" * 200]
)
def test_any_single_line_title_is_read_back_unchanged(title: str) -> None:
    text = new_document(title, "Intro.", [title[:50]], [NewChapter(title, "Text.")], NOW, [title], "2026-12-31")

    document = KnowledgeDocument(text)
    assert document.metadata.title == document.title == title
    assert document.metadata.keywords == (title[:50],)
    assert document.metadata.supersedes == (title,)
    assert document.metadata.valid_until == "2026-12-31"
    assert [chapter.title for chapter in document.chapters] == [title]


def test_a_whole_text_is_stored_byte_for_byte_except_for_an_unchanged_updated_date() -> None:
    left = GUIDE.replace("Install it.", "Install it twice.")
    chosen = left.replace("updated: 2024-01-01T12:00:00Z # by hand", "updated: yesterday")

    assert rewrite(GUIDE).change(GUIDE, NOW) == GUIDE
    assert rewrite(left).change(GUIDE, NOW) == left.replace(
        "updated: 2024-01-01T12:00:00Z # by hand", f"updated: {NOW}"
    )
    assert rewrite(chosen).change(GUIDE, NOW) == chosen
    assert rewrite("\ufeffnothing of it\r\n").change(GUIDE, NOW) == "\ufeffnothing of it\r\n"


def test_a_whole_text_may_exceed_the_chapter_limit_only_if_it_did_before() -> None:
    many = "".join(f"## {number}\n" for number in range(MOST_CHAPTERS + 1))

    with pytest.raises(InvalidContent, match="up to 50 chapters"):
        rewrite(many).change(GUIDE, NOW)
    assert rewrite(f"{many}text\n").change(many, NOW) == f"{many}text\n"


@pytest.mark.requirement("KB-083")
def test_limits_equal_those_of_the_original() -> None:
    def create(
        title: str = "t", introduction: str = "", keywords: int = 0, chapters: int = 0, summary: str = ""
    ) -> str:
        parts = [NewChapter(f"c{n}", "text", summary) for n in range(chapters)]
        return new_document(title, introduction, ["k" * keywords] if keywords else [], parts, NOW)

    assert len(KnowledgeDocument(create("t" * 200, "i" * 2000, 50, 50, "s" * 500)).chapters) == MOST_CHAPTERS
    too_many: list[dict[str, Any]] = [{"keywords": 51}, {"chapters": 51}, {"chapters": 1, "summary": "s" * 501}]
    for bad in ({"title": "t" * 201}, {"title": ""}, {"title": " \n "}, {"introduction": "i" * 2001}, *too_many):
        with pytest.raises(InvalidContent):
            create(**bad)
    full = create(chapters=50)
    with pytest.raises(InvalidContent):
        add_part(ChapterName("more"), "x").change(full, NOW)
    with pytest.raises(InvalidContent):
        update_part(ChapterName("c1"), "### more").change(full, NOW)


@pytest.mark.parametrize(
    "lines",
    [
        ["- ```", "  ## in a list", "  ```", "## A"],
        ["1. ~~~", "   ## in a list", "## A"],
        ["    ```", "## A"],
        ["````", "```", "## no", "````", "## A"],
        ["~~~ `x`", "## no", "~~~", "## A"],
        ["``` a`b", "## A"],
        ["\ufeff## A"],
    ],
)
@pytest.mark.requirement("KB-079")
def test_a_heading_in_a_fence_is_not_a_chapter(lines: list[str]) -> None:
    assert titles("\n".join(lines)) == [(2, "A")]


def test_unreadable_front_matter_is_left_unchanged_and_values_stay_text_whatever_their_yaml_type() -> None:
    text = "---\ntitle: [\nupdated: 2024\n---\n## A\n"
    metadata = KnowledgeDocument("---\ntitle: 2024-01-01\nkeywords: no, 1e3\n---\n").metadata

    assert KnowledgeDocument(text).metadata.problem
    assert update_part(ChapterName("A"), "b").change(text, NOW) == text + "\nb\n"
    assert (metadata.title, metadata.keywords) == ("2024-01-01", ("no", "1e3"))


HOSTILE = ["a: &a [x]\nb: *a", "a: !!python/object/apply:os.system [id]", "!x {}", "- a", "? [a]\n: b", "\x00: a"]


@pytest.mark.parametrize("block", [*HOSTILE, "a: " + "[" * 30])
@pytest.mark.requirement("KB-064")
def test_hostile_front_matter_is_reported_as_a_problem_and_not_raised(block: str) -> None:
    metadata = KnowledgeDocument(f"---\n{block}\n---\n").metadata

    assert metadata.problem
    assert not metadata.title


def test_an_update_takes_time_proportional_to_the_document() -> None:
    text = "".join(f"## Chapter {n}\n\n{'word ' * 2000}\n- ```\n  x\n  ```\n\n" for n in range(50)) + "`" * 100_000

    assert titles(update_part(ChapterName("Chapter 7"), "new").change(text, NOW))[7] == (2, "Chapter 7")


@given(TEXTS)
@settings(max_examples=300)
def test_parsing_preserves_the_text(text: str) -> None:
    document = KnowledgeDocument(text)

    assert document.text == text
    assert "".join(document.outline.lines) == "".join(lines_of(text)) == text
    place = 0
    for chapter in document.chapters:
        place = text.index(chapter.content, place) + len(chapter.content)


def lines_of_chapter(document: KnowledgeDocument, index: int) -> tuple[int, int]:
    """Return the first and last line of a chapter, from 1."""
    starts = [heading.line for heading in document.headings] + [len(document.outline.lines)]
    return starts[index] + 1, starts[index + 1]


@given(TEXTS, st.integers(0, 5), TEXTS)
@example("---\nupdated: x\n---\n## A\n```\n## B", 0, "c")
@settings(max_examples=300)
@pytest.mark.requirement("KB-023")
def test_an_update_changes_only_the_lines_of_its_chapter(text: str, index: int, content: str) -> None:
    before = KnowledgeDocument(text)
    if not before.chapters:
        return
    index %= len(before.chapters)
    try:
        after = KnowledgeDocument(update_part(ChapterName(index=index), content).change(text, NOW))
    except LoreError:
        return
    first, last = lines_of_chapter(before, index)
    added = len(after.chapters) - len(before.chapters)
    begin, end = lines_of_chapter(after, index)[0], lines_of_chapter(after, index + added)[1]
    assert after.outline.lines[end:] == before.outline.lines[last:]
    assert after.chapters[index].level == before.chapters[index].level
    kept, was = after.outline.lines[: begin - 1], before.outline.lines[: first - 1]
    new = [line for line in kept if NOW in line]
    assert len(new) <= 1
    if not new:
        assert kept == was
    else:
        at = kept.index(new[0])
        assert kept[:at] == was[:at]
        assert kept[at + 1 :] == was[len(was) - len(kept) + at + 1 :]
        assert after.metadata.updated == NOW


@given(TEXTS, st.text(min_size=1, max_size=20), TEXTS, st.sampled_from(["end", "before", "after"]), st.integers(0, 5))
@settings(max_examples=300)
def test_adding_and_removing_a_chapter_preserves_the_other_chapters(
    text: str, title: str, content: str, place: str, index: int
) -> None:
    before = titles(text)
    index %= len(before) or 1
    contents = [chapter.content for chapter in KnowledgeDocument(text).chapters]
    try:
        added = add_part(ChapterName(title), content, place, ChapterName(index=index)).change(text, NOW)  # type: ignore[arg-type]
        at = [title for _, title in titles(added)].index(" ".join(title.split()))
        after = remove_part(ChapterName(index=at)).change(added, NOW)
    except LoreError:
        return
    assert titles(after) == before
    assert [chapter.content for chapter in KnowledgeDocument(after).chapters] == contents


@given(st.lists(st.text(max_size=30), max_size=4), st.text(max_size=60), st.text(min_size=1, max_size=60))
@settings(max_examples=300)
def test_front_matter_survives_a_round_trip(keywords: list[str], introduction: str, title: str) -> None:
    try:
        document = KnowledgeDocument(new_document(title, introduction, keywords, [], NOW))
    except LoreError:
        return
    assert document.metadata.problem is None
    assert document.metadata.title == " ".join(title.split())
    assert document.metadata.keywords == tuple(dict.fromkeys(" ".join(word.split()) for word in keywords))
    assert document.metadata.created == document.metadata.updated == NOW
