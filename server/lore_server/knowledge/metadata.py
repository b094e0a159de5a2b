"""Read the untrusted front matter of a knowledge document, and change single keys of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from lore_etl.core.frontmatter import TEXT_LOADER, FrontMatterError, front_matter_lines, front_matter_values
from lore_etl.core.headings import line_end, lines_of
from lore_etl.core.text import one_line

Value = str | Sequence[str]


@dataclass(frozen=True)
class Metadata:
    """The values of a front matter; `problem` explains why it cannot be read, and then the other fields are empty."""

    title: str = ""
    keywords: tuple[str, ...] = ()
    created: str | None = None
    updated: str | None = None
    supersedes: tuple[str, ...] = ()
    valid_until: str | None = None
    problem: str | None = None


def read_metadata(text: str) -> Metadata:
    """Return the values of a text's front matter. Errors are not raised but reported in `Metadata.problem`."""
    try:
        values = front_matter_values(text, as_text=True)
    except FrontMatterError as error:
        return Metadata(problem=": ".join(filter(None, (str(error), error.reason)))[:300])
    keywords = values.get("keywords")
    return Metadata(
        title=_text(values.get("title")) or "",
        keywords=_texts(keywords.split(",") if isinstance(keywords, str) else keywords),  # such as `one, two`
        created=_text(values.get("created")),
        updated=_text(values.get("updated")),
        supersedes=_texts(values.get("supersedes")),
        valid_until=_text(values.get("valid_until")),
    )


def write_metadata(values: Mapping[str, Value]) -> str:
    """Return a new front matter block with its `---` lines."""
    return "\n".join(["---", *(_entry(key, value) for key, value in values.items()), "---", ""])


def with_updated(text: str, date: str) -> str:
    """Return the text with this date as `updated` in its front matter; without a readable block, it is unchanged."""
    count = front_matter_lines(text)
    if not count or read_metadata(text).problem:
        return text
    lines = lines_of(text)
    node = yaml.compose("".join(line.rstrip("\r\n") + "\n" for line in lines[1 : count - 1]), Loader=TEXT_LOADER)
    if node is not None and (not isinstance(node, yaml.MappingNode) or node.flow_style):
        return text  # a flow mapping such as `{title: a}`, written by hand, cannot be changed line by line
    first = last = count - 1
    for name, value in node.value if node else ():
        if name.value == "updated":  # if there are several, the last one is read
            first = name.start_mark.line + 1
            last = max(value.end_mark.line + (value.end_mark.column > 0), first) + 1
    lines[first:last] = [_entry("updated", date) + line_end(lines[0])]
    return "".join(lines)


def _entry(key: str, value: Value) -> str:
    """Return a line of YAML; quoted as in JSON, a subset of YAML (https://yaml.org/spec/1.2.2/#12-overview)."""
    if not isinstance(value, str):
        return f"{key}: [{', '.join(_scalar(item) for item in value)}]"
    return f"{key}: {_scalar(value)}"


def _scalar(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_](?:[A-Za-z0-9_ ./()+-]|:(?=[0-9]))*(?<! )", text) and _is_text(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    # JSON does not escape these characters, but YAML treats them as line ends or rejects them
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _is_text(text: str) -> bool:
    """Return whether YAML reads the unquoted value as text; times are unquoted too, as the seed writes them."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return False
    return isinstance(value, str) or bool(re.match(r"\d{4}-\d\d-\d\dT", text))


def _text(value: object) -> str | None:
    return one_line(value)[:300] or None if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(text for item in values[:100] if (text := _text(item))))
