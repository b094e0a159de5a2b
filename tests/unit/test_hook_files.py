"""The memory files that the hook finds and reads; one broken file does not affect the others."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.hook.memory_files import (
    MIN_PART,
    Episode,
    FoundFiles,
    MemoryFile,
    find_memory_files,
    memory_folders,
    read_episode,
    skip_reason,
    split_episode,
)
from tests.harness.projects import write_project
from tests.harness.steps import steps

FILE = MemoryFile("/m/LEARNING/a.md", "LEARNING/a.md", "learning", 1)


def found(folder: Path, files: dict[str, str | bytes], *below: str) -> FoundFiles:
    write_project(folder, files)
    return find_memory_files([folder / name for name in below] or [folder])


def labels(found: FoundFiles) -> dict[str, str]:
    return {file.label: file.group for file in found.files.values()}


def read(text: str | bytes) -> tuple[Episode, list[str]]:
    return read_episode(FILE, text if isinstance(text, bytes) else text.encode())


def episode(text: str | bytes) -> Episode:
    return read(text)[0]


def test_files_are_found_at_any_depth_also_next_to_month_folders(tmp_path: Path) -> None:
    names = ["LEARNING/a.md", "LEARNING/2026-01/b.md", "LEARNING/ALGORITHM/2026-01/15/c.MD", "RESEARCH/d.markdown"]

    assert labels(found(tmp_path, dict.fromkeys(names, "text"))) == dict(
        zip(names, ["learning", "learning", "learning", "research"], strict=True)
    )


def test_only_learning_and_research_are_read(tmp_path: Path) -> None:
    names = ["LEARNING/a.md", "STATE/b.md", "c.md", "LEARNING/.hidden/d.md", "LEARNING/e.txt"]

    assert list(labels(found(tmp_path, dict.fromkeys(names, "text")))) == ["LEARNING/a.md"]


def test_fr_009_the_group_is_learning_research_or_the_name_of_the_folder(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"Team Notes/x/a.md": "a", "Team Notes/Research/b.md": "b", "LEARNING/c.md": "c"}

    assert labels(found(tmp_path, files, "Team Notes/x", "Team Notes", "LEARNING")) == {
        "x/a.md": "x", "Research/b.md": "research", "LEARNING/c.md": "learning",
    }  # fmt: skip


def test_symlinks_and_special_files_are_skipped(tmp_path: Path) -> None:
    write_project(tmp_path, {"m/a.md": "a", "elsewhere/secret.md": "s"})
    (tmp_path / "m/link.md").symlink_to(tmp_path / "elsewhere/secret.md")
    (tmp_path / "m/folder").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "m/pipe.md")

    assert list(labels(find_memory_files([tmp_path / "m"]))) == ["m/a.md"]


@pytest.mark.requirement("HOOK-027")
def test_a_missing_folder_and_an_unusual_name_are_reported_and_others_are_read(tmp_path: Path) -> None:
    write_project(tmp_path, {"m/a.md": "a"})
    (tmp_path / os.fsdecode(b"m/b\xff.md")).write_text("b")

    odd = tmp_path / os.fsdecode(b"odd\xff")
    odd.mkdir()

    seen = find_memory_files([tmp_path / "nothing", odd, tmp_path / "m"])

    assert list(labels(seen)) == ["m/a.md"]
    assert [problem.split(": ", 1)[1] for problem in seen.problems] == [
        "cannot be read: No such file or directory",
        "its name is not UTF-8",
        "its name is not UTF-8",
    ]
    assert seen.complete == []  # if a folder could not be read completely, no file in it counts as deleted


@pytest.mark.requirement("HOOK-036")
def test_the_default_folders_are_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_project(tmp_path, {".claude/MEMORY/RESEARCH/a.md": "a"})

    monkeypatch.setenv("HOME", str(tmp_path))
    assert memory_folders([], [], tmp_path, {}) == [tmp_path / ".claude/MEMORY/RESEARCH"]
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    assert memory_folders([], [], tmp_path, {}) == [tmp_path / "other/.claude/MEMORY/LEARNING"]


def test_a_symlink_to_learning_or_research_is_not_followed(tmp_path: Path) -> None:
    write_project(tmp_path, {"m/LEARNING/a.md": "a", "m/c.md": "c", "n/d.md": "d", "elsewhere/secret.md": "s"})
    for link in ("m/RESEARCH", "n/LEARNING"):
        (tmp_path / link).symlink_to(tmp_path / "elsewhere")

    assert list(labels(find_memory_files([tmp_path / "m", tmp_path / "n"]))) == ["LEARNING/a.md"]


def test_folders_come_from_the_command_line_then_the_configuration_then_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project, environment = tmp_path / "project", {"LORE_MEMORY_DIR": f"/a{os.pathsep}~/b"}

    assert memory_folders([Path("/given")], ["notes"], project, environment) == [Path("/given")]
    assert memory_folders([], ["notes", "~/m"], project, environment) == [project / "notes", tmp_path / "home/m"]
    assert memory_folders([], [], project, environment) == [Path("/a"), tmp_path / "home/b"]
    assert memory_folders([], [], project, {}) == [tmp_path / "home/.claude/MEMORY/LEARNING"]


FRONT = """---
rating: 8.5
source: session
tags:
  - networks
  - "apt-28"
capture_type: LEARNING
timestamp: 2026-01-20T10:00:00Z
unknown: x
---

# What was learned

Retry with jitter.
"""


@pytest.mark.parametrize("text", [FRONT, FRONT.replace("\n", "\r\n"), "\ufeff" + FRONT], ids=["plain", "CRLF", "BOM"])
def test_fr_012_front_matter_is_parsed_by_a_yaml_library(text: str) -> None:
    parsed = episode(text)

    assert parsed.metadata == {
        "rating": 8.5, "source": "session", "tags": ["networks", "apt-28"], "capture_type": "LEARNING",
        "timestamp": "2026-01-20T10:00:00+00:00", "file": "LEARNING/a.md",
    }  # fmt: skip
    assert (parsed.name, parsed.source, parsed.group_id) == ("What was learned", "session", "learning")
    assert parsed.body == "# What was learned\n\nRetry with jitter."


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("---\nrating: [8\n---\nBody.\n", "front matter is not valid YAML at line"),
        ("---\na:\n\tb: 1\n---\nBody.\n", "front matter is not valid YAML at line"),
        ("---\n- a\n---\nBody.\n", "front matter is not a list of `key: value`"),
        ("---\na: &x 1\nb: *x\n---\nBody.\n", "front matter is not valid YAML"),
        (f"---\ntitle: {'x' * 1_000_000}\n---\nBody.\n", "its front matter is not closed within 64,000 characters"),
        ("---\nrating: 8\n\nBody.\n", "its front matter is not closed"),
        (b"---\nrating: 8\n---\nBody.\xff\n", "it is not valid UTF-8 at byte 23"),
    ],
    ids=["broken", "tabs", "a list", "an alias", "1 MB", "without an end", "invalid UTF-8"],
)
def test_problems_of_a_file_are_reported_and_its_text_is_sent(text: str | bytes, note: str) -> None:
    read_one, notes = read(text)

    assert read_one.body.rstrip("\ufffd").endswith("Body.")
    assert len(notes) == 1
    assert note in notes[0]


def test_missing_front_matter_is_not_a_problem() -> None:
    assert read("# A title #\n\nText.\n") == (
        Episode("A title", "# A title #\n\nText.", "learning", "LEARNING/a.md", episode("# A title #\n\nText.\n").mark,
                {"file": "LEARNING/a.md"}),
        [],
    )  # fmt: skip
    assert read("---\n\nA line above a text.\n")[1] == []


def test_the_name_is_the_title_or_the_first_heading_or_the_file_name() -> None:
    texts = ["---\ntitle: One\n---\n# Two\n", "text\n## Two\n", "text\n"]

    assert [episode(text).name for text in texts] == ["One", "Two", "a"]


@pytest.mark.parametrize(
    "value",
    ["0x" + "f" * 5000, "{a: 1, b: [2026-01-01]}", ".nan", ".inf", "true", "[1, {x: 2}]", "2026-01-01", '"\\u0000"'],
)
def test_values_that_servers_reject_become_text(value: str) -> None:
    rating = episode(f"---\nrating: {value}\ntitle: {value}\n---\nBody.\n").metadata["rating"]
    values = rating if isinstance(rating, list) else [rating]

    assert all(isinstance(value, str | bool) or value == 1 for value in values)
    assert not any("\0" in str(value) for value in values)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "it is empty") for text in ("", "---\nrating: 8\n---\n\n", "\ufeff\r\n")),
        ("---\nknowledge_server: lore\n---\nBody.\n", "it came from a knowledge server"),
        ("---\ngroup_id: learning\nsha256: abc\n---\nBody.\n", "it came from a knowledge server"),
    ],
)
def test_an_empty_file_and_one_from_a_knowledge_server_are_not_sent(text: str, reason: str) -> None:
    assert skip_reason(text.encode()) == reason


def test_a_text_that_mentions_a_knowledge_server_is_still_sent() -> None:
    assert not skip_reason(b"What do I know of the knowledge graph? search_memory, mcp__lore__search.\n")


def test_secrets_are_redacted_from_body_name_and_metadata_and_reported() -> None:
    token = "ghp_" + "a1B2" * 9
    read_one, notes = read(f"---\nsource: {token}\ntags: [{token}]\n---\n# Key {token}\n\nIt is {token}.\n")

    assert token not in str(read_one)
    assert notes == ["secrets redacted: 4"]


def sample(body: str, name: str = "A name") -> Episode:
    return Episode(name, body, "learning", "x", "mark", {"rating": 8})


def test_a_short_body_is_sent_unchanged() -> None:
    assert split_episode(sample("b" * 5000, "n" * 200), 5000, 200) == [sample("b" * 5000, "n" * 200)]


def test_fr_010_bodies_over_5000_characters_are_sent_in_linked_parts() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 150 for number in range(20)]
    pieces = split_episode(sample("\n\n".join(paragraphs)), 5000, 200)

    assert all(len(piece.body) <= 5000 for piece in pieces)
    assert [piece.name for piece in pieces] == [f"A name ({n}/{len(pieces)})" for n in range(1, len(pieces) + 1)]
    assert all(
        piece.body.startswith(f"Part {n} of {len(pieces)} of memory mark.\n\n") for n, piece in enumerate(pieces, 1)
    )
    assert pieces[1].metadata == {"rating": 8, "part": 2, "parts": len(pieces)}
    assert pieces[1].body.split("\n\n")[1].startswith("Paragraph ")  # cut between paragraphs


def test_fr_011_names_over_200_characters_are_shortened_at_a_word_and_complete_in_the_body() -> None:
    name = "word " * 60 + "end"
    (part,) = split_episode(sample("Body.", name), 5000, 200)

    assert len(part.name) <= 200
    assert part.name.endswith("word…")
    assert part.body == f"{name}\n\nBody."


@given(st.text(max_size=3000), st.text(min_size=1, max_size=400), st.integers(MIN_PART + 50, 900), st.integers(40, 200))
def test_parts_join_to_the_whole_text_and_respect_the_limits(
    body: str, name: str, max_body: int, max_name: int
) -> None:
    pieces = split_episode(sample(body, name), max_body, max_name)
    whole = body if len(name) <= max_name else f"{name}\n\n{body}"
    head = "" if len(pieces) == 1 else "Part {} of {} of memory mark.\n\n"

    assert "".join(piece.body.removeprefix(head.format(n, len(pieces))) for n, piece in enumerate(pieces, 1)) == whole
    assert all(len(piece.body) <= max_body and len(piece.name) <= max_name for piece in pieces)


def cut(data: bytes) -> int:
    """Return the number of parts that a file is split into."""
    assert not skip_reason(data)
    return len(split_episode(sample(data.decode()), 5000, 200))


def test_splitting_a_file_takes_linear_work() -> None:
    paragraph = b"A paragraph of some length, to be cut.\n\n"

    assert steps(lambda: cut(paragraph * 10_000)) < 3 * steps(lambda: cut(paragraph * 5_000))


@pytest.mark.long  # it measures time
def test_a_file_of_10_mb_is_split_quickly() -> None:
    data = b"A paragraph of some length, to be cut.\n\n" * 250_000

    started = time.monotonic()
    assert cut(data) > 2000
    assert time.monotonic() - started < 5
