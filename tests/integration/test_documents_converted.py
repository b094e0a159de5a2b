"""PDF and Office files and books: their text with its page, and reports of those that cannot be read."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.model import Problem
from lore_etl.files.conversion.convert import Converter, NotConverted
from lore_etl.files.conversion.sandbox import ConversionLimits, SyncBudget
from lore_etl.pipeline.sync import sync
from lore_etl.stores.catalogue import UNREAD
from tests.harness.office_files import docx, epub, pdf, pptx, with_bullets, word, xlsx
from tests.harness.projects import chunks_of, open_index, write_project

pytestmark = pytest.mark.later

CHAPTERS = {"Storage": "Rows are kept in SQLite.", "Network": "The port is 7317."}
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits on memory and processor time")


def lines(path: str, data: bytes) -> list[str]:
    return [line for line in Converter().convert(path, data).split("\n") if line.strip()]


MARKDOWN = "# Plan\n\nIntro.\n\n## Costs\n\n- one\n- two\n\n| Region | Price |\n|---|---|\n| Oslo | 12 |\n"
WITH_MARGINS = word(
    "Titel: Harbour rules\nFor pilots\nberschrift1: Berths\nOne ferry.",
    header1="Port of Oslo", header2="Draft", footer1="Page 7", footer2="Port of Oslo",
)  # fmt: skip
BOOK_WITH_CODE = (
    "Learn C#.</p><pre># a comment</pre><table><tr><td>Oslo</td><td>12</td></tr></table><script src='x'/>"
    "<aside>A note.</aside><p>End.<script>hidden</script>"
)
READ: dict[str, tuple[str, bytes, list[str]]] = {
    "each page of a PDF file has a heading with its chapters": (
        "a.pdf", pdf("The worker stops.", "# not a heading", chapters=("Shutdown", "Shell")),
        ["## Page 1: Shutdown", "The worker stops.", "## Page 2: Shell", " # not a heading"],
    ),
    "words that are divided at the end of a line are whole": (
        "a.pdf", pdf("Run the com-\nmand of Anglo-\nSaxon in 1999-\n2001"),
        ["## Page 1", "Run the command of Anglo-Saxon in 1999-", "2001"],
    ),
    "the headings, lists and tables of a Word file": (
        "a.docx", docx(MARKDOWN),
        ["# Plan", "Intro.", "## Costs", "- one", "- two", "| Region | Price |", "| Oslo | 12 |"],
    ),
    "the title and the margins of a Word file": (
        "a.docx", WITH_MARGINS,
        ["# Harbour rules", "For pilots", "## Berths", "One ferry.", "## Header and footer", "Port of Oslo", "Draft"],
    ),
    "a Word file without the style of a title": (
        "a.docx", word("One.\nberschrift1: Berths\nTwo."), ["One.", "# Berths", "Two."],
    ),
    "a Word file with nothing but a title": ("a.docx", word("Titel: Plan"), ["# Plan"]),
    "only the first such line is the title": ("a.docx", word("Draft\nTitel: Plan\nPlan"), ["Draft", "# Plan", "Plan"]),
    "a Word file with nothing but a heading": ("a.docx", docx("# Plan"), ["# Plan"]),
    "slides with nothing but a title": ("a.pptx", pptx({"Questions?": ""}), ["## Slide 1: Questions?"]),
    "slides with their titles": (
        "a.pptx", pptx({"Rollout": "Stop one replica", "Rollback": "Start it again"}),
        ["## Slide 1: Rollout", "Stop one replica", "## Slide 2: Rollback", "Start it again"],
    ),
    "bullets below bullets are indented": (
        "a.pptx", with_bullets(pptx({"": "x"}), (0, "one"), (1, "two"), (2, "three"), (0, "four")),
        ["## Slide 1: one two three four", "- one", "  - two", "    - three", "- four"],
    ),
    "a book with nothing but titles": ("a.epub", epub({"The end": ""}), ["# Manual", "## The end"]),
    "the chapters of a book in order": (
        "a.epub", epub(CHAPTERS),
        ["# Manual", "## Storage", "Rows are kept in SQLite.", "## Network", "The port is 7317."],
    ),
    "notes, code and tables of a book": (
        "a.epub", epub({"Basics of C#": BOOK_WITH_CODE}),
        ["# Manual", "## Basics of C#", "Learn C#.", "```", " # a comment", "```", "| Oslo | 12 |", "|---|---|",
         "A note.", "End."],
    ),
    "sheets with their names and first rows": (
        "a.xlsx", xlsx({"Prices": [["Region", "Price"], ["Oslo", "12"]], "Staff": [["Name"], ["Ada"]]}),
        ["## Sheet Prices: Region, Price", "| Region | Price |", "| Oslo | 12 |", "## Sheet Staff: Name", "| Name |",
         "| Ada |"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "data", "expected"), READ.values(), ids=READ.keys())
def test_the_parts_of_a_document_are_read_as_markdown(path: str, data: bytes, expected: list[str]) -> None:
    assert lines(path, data) == expected


PAGE = "The ferry waits at the northern berth.\nIt leaves at night."


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (pdf(PAGE, title="Berth plan"), "# Berth plan"),
        (pdf(PAGE, title="Microsoft Word - Berth plan"), "# Berth plan"),
        *(
            (pdf(PAGE, title=name), "## Page 1")
            for name in ("(anonymous)", "untitled", "Document1", "\x01\x02\x03", "")
        ),
    ],
)
def test_the_title_of_a_pdf_file_is_that_of_its_author(data: bytes, title: str) -> None:
    assert lines("a.pdf", data)[0] == title


LONG = " ".join(f"word{number}" for number in range(60))


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.docx", docx(f"# {LONG}")),
        ("a.pptx", pptx({LONG: "text"})),
        ("a.epub", epub({LONG: "text"})),
    ],
)
def test_a_title_that_is_too_long_for_a_heading_is_not_cut(path: str, data: bytes) -> None:
    found = Converter().convert(path, data)

    assert max(len(line) for line in found.split("\n") if line.startswith("#")) <= 210
    assert "word59" in found


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><package>&a;</package>'
ENTITIES = "refused: it declares XML entities, or is not UTF-8"
OUTSIDE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="../../../etc/passwd"/></manifest>'
    '<spine><itemref idref="a"/></spine></package>'
)


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.pdf", b"%PDF-1.4 nothing", "damaged, or not a PDF file"),
        ("a.pdf", pdf("secret", is_encrypted=True), "encrypted: it needs a password"),
        ("a.pdf", pdf(""), "it contains no text, only pictures"),
        ("a.docx", b"PK\3\4 nothing", "damaged, or not a file of its type"),
        ("a.docx", docx("text")[:-40], "damaged, or not a file of its type"),
        ("a.xls", b"", "damaged, or not a file of its type"),
        ("a.epub", b"PK\3\4 nothing", "damaged, or not an EPUB file"),
        ("a.epub", epub({}), "it contains no text"),
        ("a.epub", epub(CHAPTERS, package=BOMB), ENTITIES),
        ("a.epub", epub(CHAPTERS, more={"META-INF/container.xml": BOMB.encode("utf-16")}), ENTITIES),
        ("a.epub", epub(CHAPTERS, package=OUTSIDE), "damaged, or not an EPUB file"),
        ("a.epub", epub(CHAPTERS, more={"x": bytes(100_000_001)}), "too large: over 100,000,000 bytes when unpacked"),
    ],
)
def test_a_document_without_readable_text_is_refused_with_the_reason(path: str, data: bytes, reason: str) -> None:
    with pytest.raises(NotConverted) as found:
        Converter().convert(path, data)

    assert str(found.value) == reason


@POSIX
@pytest.mark.parametrize(
    ("text", "limits", "reason"),
    [
        (" " * 60_000_000, ConversionLimits(megabytes=100), "too large: reading it needs more than 100 MB of memory"),
        ("word " * 100, ConversionLimits(characters=100), "too large: its text has more than 100 characters"),
        ("<p>word" * 300_000, ConversionLimits(seconds=1), "too large: reading it takes more than 1 s"),
    ],
)
@pytest.mark.promise(20)
def test_a_document_that_exceeds_a_limit_is_refused(text: str, limits: ConversionLimits, reason: str) -> None:
    with pytest.raises(NotConverted) as found:
        Converter(SyncBudget(document=limits)).convert("a.epub", epub({"Long": text}))

    assert str(found.value) == reason


@POSIX
def test_the_converting_process_cannot_open_files_or_sockets() -> None:
    program = (
        "import socket\n"
        "from lore_etl.files.conversion.sandbox import ConversionLimits, limit_resources\n"
        "limit_resources(ConversionLimits())\n"
        "for attempt in (lambda: open('/etc/hostname'), socket.socket):\n"
        "    try: attempt()\n"
        "    except OSError as error: print(error.errno)\n"
    )

    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["24", "24"]


def test_a_sync_indexes_documents_and_reports_a_damaged_one_until_it_changes(tmp_path: Path) -> None:
    manual, broken = pdf("The ferry waits.", "Berths close at night."), b"%PDF-1.4 nothing"
    project = write_project(tmp_path / "harbour", {"docs/manual.pdf": manual, "docs/broken.pdf": broken})
    with closing(open_index(project)) as index:
        first, second = sync(index), sync(index)
        headings = [(chunk.source, chunk.type.value, chunk.title, chunk.heading) for chunk in chunks_of(index)]
        stamps = {path: row.stamp for path, row in index.catalogue.files().items()}
        write_project(project, {"docs/broken.pdf": manual})
        third = sync(index)

    failed = [Problem("docs/broken.pdf", "damaged, or not a PDF file")]
    assert (first.failed, second.failed, third.failed) == (failed, failed, [])
    assert headings == [
        ("docs/manual.pdf", "guide", "manual", ("Page 1",)),
        ("docs/manual.pdf", "guide", "manual", ("Page 2",)),
    ]
    assert not any(stamp.startswith(UNREAD) for stamp in stamps.values())


def test_a_sync_reports_tables_that_are_cut(tmp_path: Path) -> None:
    rows = [[f"row {number}"] for number in range(1_004)]
    wide = [["x"] * 101, ["y" * 2_001]]
    files: dict[str, str | bytes] = {
        "a.csv": "\n".join(row[0] for row in rows),
        "b.xlsx": xlsx({"Long": rows, "Longer": [*rows, ["last"]]}),
        "d.docx": docx("| a |\n|---|\n" + "| b |\n" * 1_000),
        "e.xlsx": xlsx({"Wide": wide}),
        "f.xlsx": xlsx({"Short": rows[:1_000]}),
    }
    with closing(open_index(write_project(tmp_path / "harbour", files))) as index:
        first, second = sync(index), sync(index)

    assert first.warnings == [
        "a.csv: 4 more rows are not indexed",
        "b.xlsx: 9 more rows are not indexed",
        "d.docx: 1 more rows are not indexed",
        "e.xlsx: columns after the first 100, the ends of cells with more than 2,000 characters are not indexed",
    ]
    assert second.warnings == first.warnings


def test_without_the_extra_documents_are_left_out_and_its_installation_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"a.pdf": pdf("The ferry waits."), "b.epub": epub(CHAPTERS)}
    with closing(open_index(write_project(tmp_path / "harbour", files))) as index:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "pypdfium2", None)
            without = sync(index)
        installed = sync(index)

    assert without.inventory is not None
    assert [(row["extension"], row["reason"]) for row in without.inventory["left_out"]] == [
        (".pdf", "needs the extra `documents`")
    ]
    assert without.warnings[0].startswith("1 document needs the extra `documents`. Repeat the command")
    assert (without.files, installed.files, installed.warnings) == (1, 2, [])
