"""Find the distinctive nouns of a question, and which of them no passage contains."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from lore_etl.core.errors import ConfigError, ProviderError
from lore_etl.core.model import Chunk
from lore_etl.core.text import last_part
from lore_etl.index import Index
from lore_etl.sources.source import PROSE, syntax_of
from lore_etl.stores.tokenizer import STOPWORDS, name_parts
from lore_server.query.parse import looks_like_name, verbs
from lore_server.query.reference import ASKING, Reference, spelled
from lore_server.query.wording import wording

FEW_FILES = 3
MANY, MAX_READ = 100, 1_000  # passages
TOGETHER = "`{}` and `{}` occur together only in"
ONLY_IN, PART_OF = "`{}` occurs only in", "`{}` occurs only within other names, as in"
LISTED = "`{}` occurs only in a list of names, in"
Place = tuple[str, list[Chunk]]
_TOKEN = re.compile(r"[^\W\d_][\w+#]*(?:[.-][\w+#]+|/\d[\d.]*)*(?:['’]\w+)?")
_JOINED = re.compile(r"[/@:]·|·(?:[/@:]\S|  )")  # around a word: of a path, or in a column
_IN_DATA = re.compile(r"[/@:._-]·|·[/@:._-]")
_LINK = re.compile(r"\]\([^()\s]*\)")
_ITEM = r"[`*_\[\"']{0,3}[A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*){0,3}[`*_\]\"']{0,3}"
_IN_LINE = rf"{_ITEM}(?:(?:,\s+|,?\s+(?:and|or|&)\s+|\n[-*+] ){_ITEM}){{2,}}"
_LIST = re.compile(rf"{_IN_LINE}|^[ \t]*[-*+] [^\w\n]*{_ITEM}[^\w\n]*$", re.MULTILINE)  # or an item is only a name
_GENERAL = re.compile("|".join((ASKING.pattern, wording("follow_up")["generic"].pattern)), re.IGNORECASE)
_NUMBER = re.compile(r" \d+(?![\w.])")
_OPENING = re.compile(r"(?:^|[.?!:]\s)\W*$")


class Noun(NamedTuple):
    """A word of a question; `is_name` means that its spelling shows that it is a name."""

    text: str
    is_name: bool


def nouns(question: str, named: Iterable[Reference] = ()) -> list[Noun]:
    """Return the names in a question (not at the beginning of a sentence), and its words; none that are `named`."""
    for one in named:
        question = re.sub(f"#?{re.escape(one.name.lstrip('#'))}", " ", question, flags=re.IGNORECASE)
    found = []
    for token in _TOKEN.finditer(question):
        word, before = re.sub("['’]s$", "", token[0]), question[: token.start()]
        is_name = looks_like_name(word) or (word[0].isupper() and len(word) > 1 and not _OPENING.search(before))
        if word.casefold() not in STOPWORDS and (
            is_name or (len(word) > 3 and "’" not in word.replace("'", "’") and not _GENERAL.fullmatch(word))
        ):
            number = _NUMBER.match(question, token.end()) if is_name else None
            found.append(Noun(word + number[0] if number else word, is_name))
    return found


def forms(text: str) -> tuple[str, str]:
    """Return a text that ends with a word, and the same with its noun: the stem of `safety` is not that of `safe`."""
    return text, f"{text}ty"


def absent(found: Iterable[Noun], index: Index) -> str | None:
    """Return the first of these names that occurs nowhere in the index, or word that occurs in no form."""
    holding = index.keywords.holding
    some = (noun.text for noun in found if noun.is_name or not any(holding([form]) for form in forms(noun.text)))
    return next((name for name in some if not _occurs(name, index)), None)


def _occurs(name: str, index: Index) -> bool:
    """Return whether a name occurs, or is a known class, or the last part of a qualified one is defined."""
    # `Vue 4` occurs nowhere if only other numbers follow `Vue`, but `Java 21` may run what names no version of Java
    plain, _, number = name.partition(" ")
    those = holders(plain, index)
    if number and those:
        both = islice(index.keywords.holding([plain.casefold(), number]), MANY)
        texts = (f"{_facts(one)} {one.text}" for one in (*index.catalogue.chunks(both).values(), *those))
        has = re.compile(rf"(?<![^\W_]){re.escape(plain)}[ /-]?v?(\d+)", re.IGNORECASE)
        numbers = {found for text in texts for found in has.findall(text)}
        return not numbers or number in numbers
    is_defined = "." in plain and syntax_of(plain) == "plain" and index.keywords.defined([last_part(plain)])
    return bool(those or is_defined or plain in index.hierarchy.nodes)


def idle(question: str, index: Index) -> frozenset[str]:
    """Return the words that only ask, and the everyday verbs: for what they say, a project may have other words."""
    # a verb that the tokenizer divides is no everyday one: `spin` and `boot` are idle, and `encrypt` is not
    try:
        count = index.tokens().count
    except (ConfigError, ProviderError):
        return frozenset()
    general = {word for word in map(str.casefold, re.findall(r"\w+", question)) if _GENERAL.fullmatch(word)}
    return frozenset(word for word in verbs(question) - STOPWORDS if count(word) == 1) | general


def unknown(found: Sequence[Noun], passages: Sequence[Chunk], index: Index) -> str | None:
    """Return the first of these names that occurs nowhere in the index; most occur in these passages."""
    names = [noun for noun in found if noun.is_name]
    text = " ".join(f"{chunk.source} {chunk.text}" for chunk in passages) if names else ""
    return absent([one for one in names if one.text not in text and not spelled(one.text).search(text)], index)


def elsewhere(
    question: str, found: Sequence[Noun], shown: Sequence[Chunk], index: Index, are_lists_enough: bool
) -> Place | None:
    """Return a sentence about the first name that only few other files mention, or only lists, with their passages."""
    for noun, kind in pairwise(found):  # `Redis cluster` is another thing than Redis
        is_whole = noun.is_name and f"{noun.text} {kind.text}" in question and kind.text not in verbs(question)
        ids = index.keywords.holding([noun.text.casefold(), kind.text.casefold()]) if is_whole else ()
        both = list(index.catalogue.chunks(islice(ids, MANY)).values())
        files = {chunk.source for chunk in both}
        if 0 < len(files) <= FEW_FILES and files.isdisjoint(chunk.source for chunk in shown):
            return TOGETHER.format(noun.text, kind.text), both
    # of a name that is nowhere a word of its own, such as Heroku in `heroku/stack:20`, these are all passages
    for name in (noun.text.partition(" ")[0] for noun in found if noun.is_name):
        # `soap` among the words of code does not tell whether SOAP is supported
        likely = (one for one in shown if name in one.text or not name.isupper() or syntax_of(one.source) in PROSE)
        is_shown = any(_mentions(name, one) for one in likely)
        if is_shown and are_lists_enough:
            continue
        those = sorted(holders(name, index), key=lambda chunk: (chunk.source, chunk.lines))
        own = [chunk for chunk in those if _mentions(name, chunk)]
        is_rare = 0 < len(those) < MANY and len({chunk.source for chunk in own}) <= FEW_FILES
        unlisted = (f"{_facts(chunk)} {_LIST.sub(' ', _LINK.sub(']', chunk.text))}" for chunk in own)
        if is_rare and (not is_shown or (own and not any(map(spelled(name).search, unlisted)))):
            return (LISTED if is_shown else ONLY_IN if own else PART_OF).format(name), own or those
    return None


def holders(word: str, index: Index) -> list[Chunk]:
    """Return passages with this word, also as a plural or in parts: `GraphQL` and `graph-ql`."""
    # the index has stems, so that `Explorer` is found by `explore`. Passages with a common stem are not compared
    ids = index.keywords.holding([word.casefold()])
    parts, most = [] if ids else name_parts(word), MANY
    if len(parts) > 1:  # each of them may be common: `Next.js` occurs in few passages with `next` and `js`
        ids, most = index.keywords.holding(parts), MAX_READ
    chunks = list(index.catalogue.chunks(islice(ids, most)).values())
    has = spelled(word)
    return chunks if len(ids) > most else [chunk for chunk in chunks if has.search(f"{_facts(chunk)} {chunk.text}")]


def is_written(name: str, index: Index) -> bool:
    """Return whether a passage has a name as one word: `YamlNode` is not `yaml.Node`."""
    has = re.compile(rf"(?<![^\W_]){'[_-]?'.join(map(re.escape, name_parts(name)))}", re.IGNORECASE)
    return any(has.search(f"{_facts(chunk)} {chunk.text}") for chunk in holders(name, index))


def _mentions(name: str, chunk: Chunk) -> bool:
    """Return whether a passage has a name as a word of its own; outside of data, a capital letter is enough."""
    has = spelled(name)
    if has.search(_facts(chunk)):
        return True
    text, is_data = chunk.text, syntax_of(chunk.source) == "json"
    joined = _IN_DATA if is_data else _JOINED
    return any(
        (match[0] != match[0].lower() and not is_data)
        or name == name.lower()
        or not joined.search(f"{text[match.start() - 1 : match.start()]}·{text[match.end() : match.end() + 2]}")
        for match in has.finditer(text)
    )


def _facts(chunk: Chunk) -> str:
    facts = (chunk.source, chunk.title, *chunk.heading, *chunk.symbols, *chunk.tags, *chunk.details)
    return " ".join((*facts, chunk.class_name or ""))
