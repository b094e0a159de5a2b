"""Memories as files: reading the files of any memory returns that memory."""

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lore_etl.core.errors import InvalidContent, InvalidGroupId
from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.text import parts_of, shortened
from lore_server.knowledge.document import MEMORY_PART_CHARACTERS
from lore_server.knowledge.memory_store import Memory, file_place, files_of, new_memory, read_memory
from lore_server.knowledge.names import checked_group_id, group_folder

NOW = "2026-01-02T03:04:05.000Z"
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
PIECES = st.sampled_from(["word", " ", "\n", "\n\n", "\r\n", "\r\n \r\n", "\t", "é", "---\n", "x" * 30, "\u2028", "\r"])
LONG = st.lists(PIECES, max_size=60).map("".join)
SCALARS = st.one_of(TEXTS, st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
METADATA = st.dictionaries(TEXTS, SCALARS | st.lists(SCALARS, max_size=4), max_size=5)


@given(LONG, st.integers(1, 40))
@example("\n\n" + "x" * 100, 40)
def test_parts_join_to_the_text_and_are_neither_too_long_nor_blank(text: str, most: int) -> None:
    parts = parts_of(text, most)

    assert "".join(parts) == text
    assert all(len(part) <= most for part in parts)
    assert all(len(part) == most or part.strip() for part in parts[:-1])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("one two\nthree\n\nfour\nfive", ["one two\nthree\n\n", "four\nfive"]),
        ("one\r\n\r\ntwo two two two", ["one\r\n\r\n", "two two two two"]),
        ("one two three\nfour five", ["one two three\n", "four five"]),
        ("one two three four five", ["one two three ", "four five"]),
        ("x" * 25, ["x" * 16, "x" * 9]),
        ("short", ["short"]),
    ],
    ids=["paragraph", "paragraph of CRLF", "line", "word", "nowhere", "whole"],
)
def test_a_text_is_split_after_a_paragraph_or_a_line_or_a_word(text: str, parts: list[str]) -> None:
    assert parts_of(text, 16) == parts


@settings(deadline=None)  # the first example loads the rules of redaction
@given(TEXTS.filter(str.strip), LONG.filter(str.strip), TEXTS, METADATA)
@example("---", "---\ntitle: x\n---\n" * 800, "a: b", {"a": "x\n---\ny", "b": "2026-01-20T10:00:00Z", "c": ["no", "1"]})
def test_a_memory_is_read_back_from_its_files(name: str, body: str, source: str, metadata: dict[str, object]) -> None:
    memory = new_memory(name, "group", body, source, metadata, NOW)  # type: ignore[arg-type]
    files = files_of(memory, memory.stem())

    assert read_memory(list(files.values()), memory.stem(), "group") == memory
    assert memory.body == body
    assert [file_place(file) for file in files] == [(memory.stem(), number) for number in range(1, len(files) + 1)]


def test_parts_are_linked_in_order_and_name_their_memory() -> None:
    memory = Memory("Notes", "g", "A line of some words.\n\n" * 600, "here", {"rating": 5}, NOW)
    files = files_of(memory, memory.stem())
    fronts = [yaml.safe_load(text.split("---\n")[1]) for text in files.values()]
    names = list(files)

    assert len(names) == 3
    assert [(front["part"], front["of"], front["sha256"]) for front in fronts] == [
        (n, 3, memory.sha256) for n in (1, 2, 3)
    ]
    assert [front.get("next") for front in fronts] == [names[1], names[2], None]
    assert [front.get("previous") for front in fronts] == [None, names[0], names[1]]
    assert [front.get("metadata") for front in fronts] == [{"rating": 5}, None, None]
    bodies = [text.split("\n", front_matter_lines(text))[-1] for text in files.values()]
    assert all(body.endswith("\n\n") and len(body) <= MEMORY_PART_CHARACTERS for body in bodies)


def test_a_long_name_is_shortened_at_a_word_and_also_stored_in_full() -> None:
    whole = "word " * 100

    memory = new_memory(whole, "g", "x", "", {}, NOW)

    assert memory.name.endswith("word…")
    assert len(memory.name) <= 200
    assert memory.full_name == whole.strip()
    assert shortened("x" * 300, 200) == "x" * 199 + "…"
    assert shortened("x" * 200, 200) == "x" * 200


def test_secrets_are_redacted_and_counted() -> None:
    key = "AKIA" + "Q7XZ4M2N8P1R5T6V"

    memory = new_memory(f"of {key}", "g", f"key {key}\n", f"from {key}", {"k": [key, 1], "l": key}, NOW)

    assert memory.secrets == 5
    assert key not in "".join(files_of(memory, memory.stem()).values())
    assert memory.body == "key [redacted-aws-key]\n"


@pytest.mark.parametrize(
    ("name", "body", "metadata"),
    [
        (" ", "x", {}), ("x", "\n", {}), ("x\0", "x", {}), ("x", "x\0", {}), ("x", "\ud800", {}),
        ("x", "x", {"a": "\0"}), ("x", "x", {"\ud800": 1}), ("x", "x", {"a": float("nan")}),
        ("x", "x" * 10_000_001, {}), ("x", "x", {"a": "x" * 40_000}),
    ],
    ids=["name", "body", "NUL", "NUL in body", "half", "NUL in metadata", "half a key", "no number", "size", "long"],
)  # fmt: skip
def test_text_that_cannot_be_stored_in_a_file_is_rejected(name: str, body: str, metadata: dict[str, str]) -> None:
    with pytest.raises(InvalidContent):
        new_memory(name, "g", body, "", metadata, NOW)


def test_each_group_has_its_own_folder() -> None:
    names = "learning Learning LEARNING C C++ C# c ..c a/b a-b CON con nul p\u0430ypal paypal x..y \u65e5\u672c".split()
    folders = {name: group_folder(name) for name in names}

    assert len(set(folders.values())) == len(names)
    assert folders["learning"] == "learning"
    assert folders["con"].startswith("con-x.")
    assert all(folder.isascii() and folder[0] not in ".-" and "/" not in folder for folder in folders.values())
    assert len(group_folder("日" * 200)) < 120


@settings(deadline=None)  # the first example loads the rules of redaction
@given(TEXTS, TEXTS)
def test_no_two_groups_share_a_folder(group: str, other: str) -> None:
    try:
        ids, folders = {checked_group_id(group), checked_group_id(other)}, {group_folder(group), group_folder(other)}
    except InvalidGroupId:
        return
    assert len(ids) == len(folders)


@pytest.mark.parametrize("text", ["no front matter", "---\nname: [\n---\nbody", "---\nmetadata: 1\n---\nx", ""])
def test_a_file_added_by_hand_is_a_memory_named_after_the_file(text: str) -> None:
    memory = read_memory([text], "notes", "folder")

    assert (memory.name, memory.group_id) == ("notes", "folder")


def test_a_memory_edited_by_hand_is_detected() -> None:
    front = "name: 2024-01-01\nmetadata: {a: 2024-01-01, b: .nan, c: {d: 1}, 1: [x, null]}"

    memory = read_memory([f"---\n{front}\n---\nx"], "notes", "folder")

    assert memory.name == "2024-01-01"
    assert memory.metadata == {"a": "2024-01-01", "b": "nan", "c": "{'d': 1}", "1": ["x", ""]}
