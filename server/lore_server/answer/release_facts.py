"""Find the earliest release note that names something, for questions such as "which release added …"."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath

from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.core.text import last_part
from lore_etl.index import Index
from lore_etl.sources.source import PROSE, syntax_of
from lore_etl.stores.tokenizer import phrase_words
from lore_server.answer.class_questions import definitions
from lore_server.query.parse import looks_like_name
from lore_server.query.reference import BEFORE_VERSION, is_project, is_version, spelled, titled_lines, titles
from lore_server.query.wording import wording
from lore_server.replies.paging import whole_lines

_FORM = wording("releases")
_QUESTIONS = tuple(_FORM[form] for form in ("added", "was_added", "when_added", "when_did", "since_when", "is_gone"))
UNRELEASED = "the unreleased changes"
UNSUPPORTED = "no longer supported"
Note = tuple[str, Chunk]  # a version, and a passage of its notes
Event = tuple[re.Pattern[str], re.Pattern[str]]
_PART = re.compile(r"\n\s*(?=[-*+] |\n)")
_NO_VERSION = r"(?!\.\d|[\s`]{1,2}v?\d)"  # who drops Ruby 2.4 keeps Ruby, and who drops Python 3.7 keeps Python 3
_NO_MEMBER = r"(?!(?:\.|::|#|->)\w)"
_VERSION = re.compile(rf"^\W*{BEFORE_VERSION}(\d+(?:\.\d+)+(?:[-.]?[a-z][\w.]*)?)", re.IGNORECASE)


def asked_event(question: str) -> tuple[str, str] | None:
    """Return the subject of a question for a release or date, and the verb if it does not ask for the introduction."""
    asked = next((match for pattern in _QUESTIONS if (match := pattern.search(question))), None)
    if asked is None:
        return None
    subject = _FORM["around"].sub("", asked["subject"])
    name, _, kind = subject.partition(" ")
    subject = name if looks_like_name(name) and _FORM["of_code"].fullmatch(kind) else subject
    done = UNSUPPORTED if str(asked["done"]).endswith("supported") else (asked["done"] or "").casefold()
    return subject, "" if _FORM["new"].match(done) else done


def latest_release(question: str, index: Index, tags: Callable[[], Iterable[str]]) -> tuple[str, Chunk | None] | None:
    """Return a sentence about the latest release in notes and tags, and its notes, if a question asks for it."""
    asked, catalogue = _FORM["latest"].fullmatch(question), index.catalogue
    if asked is None or not all(is_project(name, index) for name in asked.group("whose", "name") if name):
        return None
    changes = [path for path in catalogue.paths() if syntax_of(path) in PROSE and _FORM["notes"].search(path)]
    logs = catalogue.paths(KnowledgeType.RELEASE) or changes
    top = min((path.count("/") for path in logs), default=0)
    notes: dict[str, Chunk] = {}
    for chunks in (catalogue.of_source(path) for path in logs if path.count("/") == top):
        lines = whole_lines(chunks)
        begun = ((version, "\n".join(lines[n : n + 4])) for n, version in _titled_versions(lines))
        titled = [version for version, text in begun if version != UNRELEASED and not _FORM["pending"].search(text)]
        known = titled or [release_of(chunks[0]) or ""]
        stable = [version for version in known if _order(version)[1]] or known
        # a heading between the first and the last may name the version of something else, such as `Python 3.12`
        notes |= {version: (notes_of(version, chunks) or chunks)[0] for version in (stable[0], stable[-1]) if version}
    latest, versions = max(notes, key=_order, default=""), {_version_of(tag) for tag in tags()} - {None, UNRELEASED}
    tagged = max(map(str, versions), key=lambda version: (_order(version)[1], _order(version)), default="")
    noted = f"The latest release with notes here is {latest} [1]" if latest else "No release notes are here"
    other = f", and the highest {'stable ' * _order(tagged)[1]}tag is {tagged}" * (_order(tagged) != _order(latest))
    return (f"{noted}{other if tagged else ''}.", notes.get(latest)) if latest or tagged else None


def first_release(question: str, index: Index) -> tuple[str, Chunk] | None:
    """Return a sentence that names the earliest release note with the subject of the question, and its passage."""
    # if none has the verb of the question too, the latest with the subject says more: what is removed was deprecated
    if (asked := asked_event(question)) is None:
        return None
    subject, done = asked
    whole = re.escape(subject) + _FORM["of_kind"].pattern
    kind = None if done or looks_like_name(subject) else re.search(rf"\b{whole}", question, re.IGNORECASE)
    # a plain word, such as `json`, may name other things before `json parameter` is added
    added = _release(question, kind[0].replace("`", ""), "add", min, index, True) if kind else None
    if found := added or _release(question, subject, done, min, index):
        what, version, chunk = found
        named = f" as {done}" * bool(done)
        return f"The earliest release note here that names {what}{named} is that of {version}", chunk
    if done and not _FORM["is_gone"].match(question) and (found := _release(question, subject, "", max, index)):
        what, version, chunk = found
        return f"No sentence of the notes names {what} as {done}; the latest that names it is that of {version}", chunk
    return None


def _release(
    question: str, subject: str, done: str, best: Callable[..., Note], index: Index, is_whole: bool = False
) -> tuple[str, str, Chunk] | None:
    """Return the names in the subject of a question, and the best release note with them and the verb."""
    parts = tuple(_FORM["around"].sub("", part) for part in _FORM["of"].split(subject))
    parts = (subject,) if is_whole else parts if " " in subject else (last_part(subject),)
    for names in dict.fromkeys(((subject,), parts)):
        before = "`[^`\\s]*" if len(names) > 1 else ""  # in prose, `signal` and `when` may be other words
        signs = [next((sign for sign in ("--", "@") if f"{sign}{name}" in question), "") for name in names]
        own = _NO_VERSION * bool(done) + _NO_MEMBER * bool(_FORM["gone"].match(done))
        ends = [r"\(" * (f"{name}()" in question) + own for name in names]
        forms = [sign + spelled(name, True).pattern + end for sign, name, end in zip(signs, names, ends, strict=True)]
        words = re.compile("".join(rf"^(?=[\s\S]*?{before}{form})" for form in forms), re.IGNORECASE)
        known = phrase_words(" ".join(names))
        begin = cache(lambda source: _titled_versions(whole_lines(index.catalogue.of_source(source))))
        found = index.catalogue.chunks(index.keywords.holding(known) if known else ()).values()
        chunks = [one for one in found if release_of(one) is not None]
        event = _event(done, forms[0]) if done else None
        if notes := [(version, one) for one in chunks for version in _stating(one, begin(one.source), words, event)]:
            those = _of_package(notes, question, names, index)
            version, chunk = best(those, key=lambda note: (note[0] == UNRELEASED, _order(note[0]), note[1].lines))
            # `a` and `b` as deprecated would mean both
            what = (" with " if done else " and ").join(f"`{name}`" for name in names)
            has_packages = len({PurePosixPath(one.source).parent for _, one in those if "/" in one.source}) > 1
            return what, f"{version} in `{chunk.source}`" if has_packages else version, chunk
        if any(words.search(one.text) for one in chunks):
            return None  # `name` is not what happened to `peer.name`
    return None


def _of_package(notes: list[Note], question: str, names: Iterable[str], index: Index) -> list[Note]:
    """Return the notes of the package that a question names, or else that defines one of these names, or else all."""
    packages = {folder for _, one in notes if (folder := PurePosixPath(one.source).parent).name}
    named = {folder for folder in packages if spelled(folder.name, is_whole=True).search(question)}
    defining = (one for name in names for one in definitions(name, index))
    homes = {folder for one in defining for folder in PurePosixPath(one.source).parents} & packages
    return [note for note in notes if PurePosixPath(note[1].source).parent in (named or homes)] or notes


def _event(verb: str, name: str) -> Event:
    """Return patterns for a sentence with a verb, of removal about this name, and for a title."""
    removal, other = _FORM["removal"], _FORM["stem"].match(verb)
    stem = f"(?:{removal.pattern})" if removal.match(verb) else other[0] if other else verb
    states = rf"\b{stem}(?:p?e[sd]?|e?s|p?ing|t)?\b"  # `before removal` states no removal, but a title `Removals` does
    if _FORM["gone"].match(verb):  # what something is removed from, or within, is not removed
        before, after = (_FORM[part].pattern for part in ("object", "subject"))
        states = rf"{states}{before}{name}|{name}{after}\b{stem}p?ed\b"
    states = _FORM["unsupported"].pattern if verb == UNSUPPORTED else states
    titled = r"(?:\b|bug-?)fix|\bsecurity" if stem == "fix" else rf"\b{stem}"
    return re.compile(states, re.IGNORECASE), re.compile(titled, re.IGNORECASE)


def release_of(chunk: Chunk) -> str | None:
    """Return the version that a passage of release notes is about; empty if none is before it."""
    path = PurePosixPath(chunk.source)
    if chunk.type != KnowledgeType.RELEASE and not _FORM["notes"].search(path.stem):
        return None
    places = (*reversed(chunk.heading), chunk.title, path.stem)
    return next((match[1] for match in map(_VERSION.search, places) if match), "")


def heading_of(chunk: Chunk) -> str:
    """Return the headings of a passage; none if it begins with the notes of another release than theirs."""
    titled = (title for title in chunk.heading if chunk.type == KnowledgeType.RELEASE and _VERSION.search(title))
    before = next((chunk.text.partition(title)[0] for title in titled if title in chunk.text), "")
    return "" if re.search(r"(?m)^\s*[-*+] ", before) else " > ".join(chunk.heading)


def notes_of(version: str, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the parts of a file's chunks that are about a version: from its title to that of another one."""
    lines = whole_lines(chunks)
    spans = [
        (first, max(n for n in range(first, after) if lines[n - 1].strip()))
        for (first, have), (after, _) in pairwise([*_titled_versions(lines), (len(lines) + 1, "")])
        if is_version(version, have)
    ]
    parts = [(one, max(one.lines[0], first), min(one.lines[1], last)) for first, last in spans for one in chunks]
    return [replace(one, lines=(a, b), text="\n".join(lines[a - 1 : b])) for one, a, b in parts if a <= b]


def _titled_versions(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the numbers of the lines of a file that begin the notes of a version, with that version."""
    levels = [len(line) - len(line.lstrip("#=")) for line in lines]
    titled = [(line, title, levels[line - 1]) for line, title in titled_lines("\n".join(lines))]
    first = next((level for _, title, level in titled if _version_of(title)), 0)
    own = ((line, title) for line, title, level in titled if level <= first or not _FORM["other"].match(title))
    return [(line, version) for line, title in own if (version := _version_of(title))]


def _version_of(title: str) -> str | None:
    found = _VERSION.search(title)
    return UNRELEASED if _FORM["unreleased"].search(title) else found[1] if found else None


def is_before(tag: str, sentence: str) -> bool:
    """Return whether a tag is of an earlier version than the one at the end of a sentence."""
    version, other = _version_of(tag), _version_of(sentence.rpartition(" ")[2])
    return bool(version and (sentence.endswith(UNRELEASED) or (other and _order(version) < _order(other))))


def _stating(chunk: Chunk, known: list[tuple[int, str]], words: re.Pattern[str], event: Event | None) -> Iterator[str]:
    """Yield the version of each paragraph or list item with the words, and the verb in itself or its headings."""
    # the heading of a passage with the notes of several short releases is that of the longest
    version, place, versions = release_of(chunk), " ".join(chunk.heading), {one for _, one in known}
    if known:
        version = next((one for line, one in reversed(known) if line < chunk.lines[0]), "")
    for part in _PART.split(_FORM["address"].sub("", chunk.text)):
        for title in titles(f"{part}\n\n"):
            found = one if (one := _version_of(title)) in versions else None
            above = "" if found or _FORM["kind"].match(title) else place
            version, place = found or version, f"{above} {title}"
        said = [_FORM["instead"].sub("", one) for one in _FORM["sentence"].split(part)] if event else [part]
        is_titled = event is None or event[1].search(place)
        if version and any(words.search(one) and (is_titled or (event and event[0].search(one))) for one in said):
            yield version


def _order(version: str) -> tuple[tuple[int, ...], bool, tuple[int, ...]]:
    """Return a key that sorts versions; 1.0.0-beta.2 is before 1.0.0."""
    main, _, before = re.sub(r"[-.]?(?=[a-z])", "-", version.casefold(), count=1).partition("-")
    numbers = [int(part) for part in main.split(".") if part.isdigit()]
    return tuple([*numbers, *[0] * (4 - len(numbers))]), not before, tuple(map(int, re.findall(r"\d+", before)))
