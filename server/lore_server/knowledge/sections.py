"""Change sections of a main document: a `## Header` with the text below it, including deeper headings. Pure."""

from __future__ import annotations

import re

from lore_etl.core.errors import InvalidArgument, SectionNotFound
from lore_etl.core.headings import heading_of, outline
from lore_etl.core.text import one_line
from lore_server.knowledge import limits
from lore_server.knowledge.part_editor import Edit, PartEditor, PartKind, Place

SECTIONS = PartKind("section", "main document", range(2, 3), range(1, 3), has_front_matter=False)
_HEADER = re.compile(r"^##\s+\S")


def update_section(header: str, content: str) -> Edit:
    """Replace the text below a header. Raises SectionNotFound, InvalidContent."""

    def change(text: str, _: str) -> str:
        editor = PartEditor(SECTIONS, outline(text))
        return editor.update(_position(editor, header), content)

    return Edit(f"Updated section '{header.strip()}' in", change)


def add_section(header: str, content: str, place: Place = "end", reference: str | None = None) -> Edit:
    """Add a section at the end, or before or after another. Raises SectionNotFound; see also `PartEditor.add`."""

    def change(text: str, _: str) -> str:
        editor, title = PartEditor(SECTIONS, outline(text)), _title(header)
        position = _position(editor, reference) if reference is not None and place != "end" else None
        return editor.add(title, content, "", place, position)

    return Edit(f"Added section '{header.strip()}' to", change)


def remove_section(header: str) -> Edit:
    """Remove a section with all its content. Raises SectionNotFound."""

    def change(text: str, _: str) -> str:
        editor = PartEditor(SECTIONS, outline(text))
        return editor.remove(_position(editor, header))

    return Edit(f"Removed section '{header.strip()}' from", change)


def _title(header: str) -> str:
    line = one_line(limits.checked_text(header, limits.TITLE_CHARACTERS * 4, "header"))
    read = heading_of(line)
    if not _HEADER.match(line) or read is None or not read[1] or len(line) > limits.TITLE_CHARACTERS:
        message = f"A section header is `## ` and a title of up to {limits.TITLE_CHARACTERS} characters."
        raise InvalidArgument(message)
    return read[1]


def _position(editor: PartEditor, header: str) -> int:
    title = _title(header)
    same = [number for number, heading in enumerate(editor.headings) if heading.title == title]
    if not same:
        raise SectionNotFound(f"The main document has no section `{header.strip()}`.")
    if len(same) > 1:
        message = f"The main document has {len(same)} sections `{header.strip()}`."
        raise InvalidArgument(message, "Rewrite the whole main document with distinct titles.")
    return same[0]
