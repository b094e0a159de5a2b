"""Set up a project: its layout, a `lore.toml`, the index and, if there is a `.ce/`, `.ce/syntropy-index.json`."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from lore_etl.config.policy import rules
from lore_etl.config.project import CONFIG_NAME, VIEW_NAME
from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError, StorageError
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import NOBODY, Listener
from lore_etl.core.text import last_part
from lore_etl.index import Index
from lore_etl.relations.classes import Hierarchy
from lore_server.framework.index_file import Output
from lore_server.framework.reading import check_root
from lore_server.framework.view import GROUP_OF_PLACE, PLACES, SYSTEM, Entries, Group, View, existing_places
from lore_server.knowledge.safe_files import Files
from lore_server.replies.paging import with_fields
from lore_server.replies.records import FirstQuestionsRecord, InitResultRecord, JobRecord, PlaceRecord
from lore_server.services.jobs import JobService

_NO_RULE = "it has no line with MANDATORY, REQUIRED, FORBIDDEN, ✅ or ❌, or is"


class InitService:
    """The set-up of a project. Every step can be repeated: existing files stay, interrupted steps resume."""

    def __init__(self, index: Index, jobs: JobService, view: View, output: Output) -> None:
        self._index, self._jobs, self._view, self._output = index, jobs, view, output
        self._files = Files(index.root)

    def run(
        self, *, sync: bool, wait_seconds: float, project_root: str | None = None, listener: Listener = NOBODY
    ) -> InitResultRecord:
        """Set up Lore. A failed sync is reported in its job. Raises InvalidArgument, StorageError, Busy."""
        root, deadline = self._index.root, time.monotonic() + wait_seconds
        check_root(root, project_root, f"Omit it, or run `lore init {(project_root or '')[:300]}` in a shell.")
        found = existing_places(root)
        if found and sync:
            listener.text(f"Found: {', '.join(found.values())}.")
        has_framework = "framework" in found
        names = (CONFIG_NAME, VIEW_NAME) if has_framework else (CONFIG_NAME,)
        before = {name: self._content(name) for name in names}
        self._configure()
        warnings = self._put_out() if has_framework else []
        job = self._synced(max(0.0, deadline - time.monotonic()), listener) if sync else None
        written = [name for name in names if self._content(name) != before[name]]
        entries = self._view.entries() if self._index.exists() else Entries()
        groups = {group.value: len(own) for group, own in entries.by_group.items()}
        questions = None
        if job and job["state"] == "done":
            warnings += _empty(found, groups)
            questions = first_questions(self._index.catalogue.sources(None, None), self._index.hierarchy)
        reply: InitResultRecord = {
            "project_root": str(root).encode("utf-8", "replace").decode(),
            "found": _places(found),
            "missing": _places(_missing(found)),
            "written": written,
            "kept": [name for name in names if name not in written and before[name] is not None],
            "warnings": warnings,
            "groups": groups,
            "drift": self._output.drift_record(),
        }
        return with_fields(reply, job=job, questions=questions)

    def _configure(self) -> None:
        try:
            if not self._files.exists(CONFIG_NAME):
                self._files.write(CONFIG_NAME, template().encode())
        except StorageError as error:
            error.hint = "Make the project folder writable, then run `lore init` again."
            raise

    def _put_out(self) -> list[str]:
        """Write the file in its current state first; the sync updates it at its end, however long it takes."""
        try:
            self._index.own()
            return self._output.create()
        except StorageError as error:
            return [f"{VIEW_NAME} was not written: {error.message}"]

    def _synced(self, wait_seconds: float, listener: Listener) -> JobRecord:
        job, is_joined = self._jobs.begin_sync()
        ended = self._jobs.get(id=job, wait_seconds=wait_seconds, listener=listener)
        return {**ended, "joined": True} if is_joined else ended

    def _content(self, name: str) -> bytes | str | None:
        """Return the content of the file, or the reason why it cannot be read."""
        try:
            return self._files.read(name)
        except LoreError as error:
            return error.message


def _empty(places: Mapping[str, str], groups: Mapping[str, int]) -> Iterator[str]:
    """Yield warnings about existing places whose files are not in the index."""
    for role, path in places.items():
        group = GROUP_OF_PLACE.get(role)
        if group is not None and not groups[group.value]:
            reason = _NO_RULE if group is Group.SYSTEM_RULES else "it is empty, or"
            yield f"{path} has no entries: {reason} excluded by .gitignore, [index] or [sources] in lore.toml."


def _missing(found: Mapping[str, str]) -> dict[str, str]:
    """Return the missing places with their usual paths; those of the framework only if there is one."""
    usual = {role: paths[0] for role, paths in PLACES.items() if role not in found}
    return {role: path for role, path in usual.items() if "framework" in found or path.split("/")[0] != SYSTEM}


def _places(places: dict[str, str]) -> list[PlaceRecord]:
    return [{"role": role, "path": path} for role, path in places.items()]


_HEAD = """\
# Lore's configuration. Every key is optional; the values are the defaults. See docs/configuration.md.
# Keys marked "you" are ignored here until you approve them with `lore trust`; ~/.config/lore/config.toml may set all.
"""
_EXAMPLES = {"sources": '# tickets = ["tracker/**/*.md"]  # the location of tickets, instead of the usual ones\n'}


def template() -> str:
    """Return a `lore.toml` that explains every key, each of them commented out."""
    parts = [_HEAD]
    for section, field in Settings.model_fields.items():
        parts.append(f"\n[{section}]\n{_EXAMPLES.get(section, '')}")
        for name, key in getattr(field.annotation, "model_fields", {}).items():
            default = key.get_default(call_default_factory=True)
            value = json.dumps("" if default is None else default)
            owner = "you: " if rules()[f"{section}.{name}"].project == "no value" else ""
            parts.append(f"# {name} = {value}  # {owner}{key.description}\n")
    return "".join(parts)


_GENERAL = re.compile(r"(?i)^(?:readme|changelog|changes|license|contributing|code.of.conduct|security|index)\b")
_PLAIN = re.compile(r"\w[\w .,-]{2,59}")
"""A title that is safe to paste into any shell, because projects are untrusted."""
MIN_SUBCLASSES = 2


def first_questions(files: Sequence[JSON], tree: Hierarchy) -> FirstQuestionsRecord | None:
    """Return a `search` for the longest guide and an `ask` about the class with most subclasses, or else any file."""
    titled = [file for file in files if _PLAIN.fullmatch(file["title"])]
    specific = [file for file in titled if not _GENERAL.match(file["source"].rpartition("/")[2])]
    guide = _longest([file for file in specific if file["type"] == "guide"])
    lengths = {last_part(name): node.lines[1] - node.lines[0] for name, node in tree.nodes.items() if node.lines}
    name = max(filter(_PLAIN.fullmatch, lengths), key=lengths.__getitem__, default=None)
    title = guide or name or _longest(specific or titled)
    if title is None:
        return None
    ask = f"Where is {name} defined?" if name and not guide else f"What is {title} about?"
    extended = Counter(node.parent for node in tree.nodes.values() if node.parent)
    for parent, count in extended.most_common():
        if count >= MIN_SUBCLASSES and tree.nodes[parent].source and _PLAIN.fullmatch(parent):
            ask = f"Which classes extend {last_part(parent)}?"
            break
    return {"search": title, "ask": ask}


def _longest(files: Sequence[JSON]) -> str | None:
    return max(files, key=lambda file: file["chunks"])["title"] if files else None
