"""Judge what the path of a file says about a question: words that both share, and a name that it spells out."""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import PurePosixPath

from lore_etl.stores.keywords import path_stems, question_stems, stem
from lore_etl.stores.tokenizer import name_parts, significant

WORDS_PER_MATCH = 4  # of the question: a question of eight words needs two in the path
ENOUGH = 3  # more words are never needed
SHORTEST, LONGEST_REST = 3, 5  # letters of a common beginning, and of what may follow it
SAME_BEGINNING = 0.8  # `args` for `arguments` says less than the same word
TOPIC_WORDS = 3  # `state provider` may be a name, a sentence is not
GENERIC = frozenset({"base", "index", "init", "main", "mod", "readm", "doc"})  # stems of files named for their role
FORMER = frozenset({"compat", "deprecated", "legacy"})
ASIDE = FORMER.union("vendor vendors vendored third_party third-party thirdparty 3rdparty node_modules".split())
_CODES = "ar bn ca cs da de el es fa fi fr he hi hu id it ja ko nl no pl pt ro ru sr sv th tr uk vi zh"
_LANGUAGE = rf"(?:{_CODES.replace(' ', '|')})(?:[-_][a-z]{{2,4}})?"
_TRANSLATION, _TRANSLATED = re.compile(_LANGUAGE), re.compile(rf"[._-]{_LANGUAGE}(?=\.\w+$)")  # a folder, a file
_WINDOWS, _POSIX = re.compile(r"(?<![a-z])win(?:32|dows)?(?![a-z])"), ("unix", "posix", "linux")
_WORD = re.compile(r"\w+(?:\.\d+)*")
_VERSION = re.compile(r"(?:v|version-)(\d+(?:\.\d+)*)", re.ASCII)


def path_sureness(question: str, sources: Iterable[str]) -> dict[str, float]:
    """Return by source the share of the needed words that its path has; a longer question needs more."""
    wanted = question_stems(question)
    needed = min(ENOUGH, max(1.0, len(wanted) / WORDS_PER_MATCH))
    return {source: min(1.0, len(wanted & path_stems(source)) / needed) for source in sources}


def file_name_matches(asked: Collection[str], sources: Iterable[str]) -> dict[str, float]:
    """Return by source whether a question with these words has all of its name: 1, or less if some only begin alike."""
    own = {source: _places(source)[0] for source in sources}
    likeness = {word: _likeness(word, asked) for word in set[str]().union(*own.values())}
    return {source: min(map(likeness.__getitem__, words), default=0.0) for source, words in own.items()}


@lru_cache(1 << 14)  # questions find the same names again
def name_words(text: str) -> frozenset[str]:
    """Return the stems of the words of a text, with identifiers split, without stop words."""
    return frozenset(map(stem, significant(name_parts(text))))


def topic_matches(question: str, sources: Iterable[str]) -> dict[str, float]:
    """Return by source how well a question of a few words names its place, from 0 to 1."""
    # `state provider` names `StateProviders.md` and, less, `MainStateProvider.mjs`
    # `log buffer` names all files in `logbuffer/`, most of all `logbuffer/logbuffer.go`
    words = significant(name_parts(question))
    asked, joined = frozenset(map(stem, words)), frozenset({stem("".join(words))})
    if not 0 < len(asked) <= TOPIC_WORDS:
        return {}
    return {source: _topic_match(asked, joined, *_places(source)) for source in sources}


def _topic_match(asked: frozenset[str], joined: frozenset[str], own: frozenset[str], folder: frozenset[str]) -> float:
    if own in (asked, joined):
        return 1.0
    is_place = folder in (asked, joined)
    if is_place and own <= GENERIC | asked | joined:
        return 0.9
    if asked <= own | folder and own & asked:
        return 0.8 * len(own & asked) / len(own)
    return 0.5 if is_place else 0.0


def set_aside(question: str, sources: Collection[str]) -> set[str]:
    """Return the sources in a folder for an earlier version or another project, unless the question names it.

    For an English question, also translations of other sources; unless it names Windows, also the files for Windows
    that have a twin for other systems.
    """
    asked, paths = {*_WORD.findall(question.casefold())}, {source.casefold() for source in sources}
    is_english = question.isascii()
    newest: dict[str, tuple[int, ...]] = {}
    folders: list[tuple[str, str, str]] = []
    for source in sources:
        names = source.casefold().split("/")[:-1]
        for place, name in enumerate(names):
            above = "".join(f"{folder}/" for folder in names[:place])
            newest[above] = max(newest.get(above, ()), _version(name))
            if asked.isdisjoint((name, ".".join(map(str, _version(name))))):
                folders.append((source, above, name))
    found = {source for source in sources if is_english and _original(source.casefold()) in paths}
    if not _WINDOWS.search(question.casefold()):
        found |= {source for source in sources if not paths.isdisjoint(_twins(source.casefold()))}
    translated = set[str]()
    for source, above, name in folders:
        rest = source.casefold().removeprefix(f"{above}{name}/")
        # `v1.9` beside `v1.10`, or `v1/fields.py` beside `fields.py`
        if name in ASIDE or () < _version(name) < newest[above] or (name == "v1" and above + rest in paths):
            found.add(source)
        if is_english and _TRANSLATION.fullmatch(name) and not paths.isdisjoint((above + rest, f"{above}en/{rest}")):
            translated.add(above + name)
    return found | {source for source, above, name in folders if above + name in translated}


def _original(path: str) -> str:
    """Return the path of which a file is the translation by its name, as `readme.md` of `readme.zh-cn.md`."""
    original, count = _TRANSLATED.subn("", path)
    return original if count else ""


def _twins(path: str) -> list[str]:
    """Return the paths that the twins of a file for Windows may have: `unix/fs.c` of `win/fs.c`."""
    return [_WINDOWS.sub(system, path) for system in _POSIX] if _WINDOWS.search(path) else []


@lru_cache(1 << 12)  # files share their folders
def _version(name: str) -> tuple[int, ...]:
    found = _VERSION.fullmatch(name)
    return tuple(map(int, found[1].split("."))) if found else ()


def _likeness(word: str, asked: Collection[str]) -> float:
    if word in asked:
        return 1.0
    for other in asked:
        common = min(len(word), len(other))
        if common >= SHORTEST and abs(len(word) - len(other)) <= LONGEST_REST and word[:common] == other[:common]:
            return SAME_BEGINNING
    return 0.0


@lru_cache(1 << 12)  # questions find the same files again
def _places(source: str) -> tuple[frozenset[str], frozenset[str]]:
    path = PurePosixPath(source)
    return name_words(path.stem), name_words(path.parent.name)
