"""The Markdown of an answer: remove links that no cited passage contains, images and HTML, and add citations."""

import html
import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lore_etl.core.errors import ProviderError

NESTED = 30  # maximum nesting of blocks and marks; the parser ignores deeper content
_SEPARATORS = (" ", "\n", "\n\n")
REMOVED = "(link removed)"
ROUNDS = 20  # removing a part of the text can create a new link
DEEPEST = 12  # maximum nesting of brackets
_ADDRESS = re.compile(
    r"""(?ix) (?: [a-z][a-z0-9+.-]{0,30}:/{2} | www\. | (?:java|vb|live)script: | data:(?=[\w.+-]*[/;,]) | mailto:
    | file:/ ) [^\s<>"'`\[\]()\\]* | [\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}[^\s<>"'`\[\]()\\]*"""
)
"""Addresses, from at most 31 characters before a colon and 64 before an @, so that long runs take linear time."""
_TAIL = ".,;:!?*_~|"
_TAG = re.compile(r"<[^>]*>?")
_TARGET = re.compile(r"(?P<mark>\]\s*\(|\]:)(?P<target>\s*<?[^\s()<>\[\]`\"]*(?:(?:\t|\r?\n)[^\s()<>\[\]`\"]+)?>?)")
"""Brackets with a target, as programs may read them that do not read CommonMark."""
_LEADS_OUT = re.compile(r"(?i)[/\\]{2}|[a-z][a-z0-9+.-]*:(?=\S)")
_SPACE = re.compile(r"[\s<>]+")
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
_HOST = re.compile(r"(?<![\w:/])//[\w-]+\.\w[^\s<>\"'`\[\]()\\]*")
_CLOSED = re.compile(r"[\s<>\"'`]|\)(?:[\s.,;:!?\[)]|$)|$")


class _AnswerMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return True  # texts that other programs may show as links count as well


@cache
def _parser() -> MarkdownIt:
    parser = _AnswerMarkdown("commonmark", {"html": True, "maxNesting": NESTED})
    return parser.enable(["table", "strikethrough"]).disable("text_join")


def with_closed_fence(text: str) -> str:
    tokens = _parser().parse(text)
    if not tokens or tokens[-1].type != "fence":  # a fence in a list or a quotation ends with it
        return text
    closed = f"{text}\n{tokens[-1].markup}"
    return closed if len(_parser().parse(closed)) == len(tokens) else text  # otherwise it has opened another fence


def with_citation(text: str, citation: str) -> str:
    """Return the text with the citation after it: on its last line, unless that is code or a table."""
    written = [f"{text}{separator}{citation}" for separator in _SEPARATORS]
    return next((markdown for markdown in written if _is_shown(_parser().parse(markdown), citation)), written[-1])


def _is_shown(tokens: Sequence[Token], citation: str) -> bool:
    """Return whether the last block is a text that ends with the citation."""
    last = next((at for at in reversed(range(len(tokens))) if not tokens[at].type.endswith("_close")), None)
    if last is None or tokens[last].type != "inline" or not tokens[last].content.endswith(citation):
        return False
    return tokens[last + 1].type not in ("td_close", "th_close")


def addresses(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(match[0].rstrip(_TAIL) for text in texts for match in _ADDRESS.finditer(text))


def shown_text(text: str, source: str = "") -> str:
    """Return a text of a document without links that its source does not contain, images and HTML."""
    try:
        return without_links(text, (source,))
    except ProviderError:
        return "(text removed)"


def without_links(text: str, sources: Sequence[str]) -> str:
    """Return the Markdown without HTML, images and foreign addresses, also for other parsers. Raises ProviderError."""
    if _depth(text) > DEEPEST:
        raise ProviderError("the answer model nested its brackets too deeply")
    allowed = addresses(sources)
    for _ in range(ROUNDS):
        after = _untargeted(_plain(_unlinked(text, allowed, sources), allowed), allowed)
        if after == text:
            return text
        text = after
    raise ProviderError("the answer model wrote links within links")


def _depth(text: str) -> int:
    """Return the nesting depth of brackets; the parser needs exponential time for deep nesting and gives up."""
    steps = (1 if bracket == "[" else -1 for bracket in re.findall(r"[\[\]]", text))
    return max(accumulate(steps, lambda depth, step: max(0, depth + step), initial=0))


def _unlinked(text: str, allowed: frozenset[str], sources: Sequence[str]) -> str:
    environment: dict[str, dict[str, dict[str, list[int]]]] = {}
    tokens = _parser().parse(text, environment)
    lines = text.split("\n")
    if references := environment.get("references"):
        for first, end in sorted((reference["map"] for reference in references.values()), reverse=True):
            del lines[first:end]
        return "\n".join(lines)
    for token in reversed(tokens):
        if token.level >= NESTED - 1:
            raise ProviderError("the answer model nested its text too deeply")
        if token.map is None:
            continue
        if token.type == "html_block":
            lines[slice(*token.map)] = _TAG.sub("", "\n".join(lines[slice(*token.map)])).split("\n")
        elif token.type == "inline" and _leads_out(token.children or [], allowed):
            _replace(lines, token.map[0], token.content, _rebuilt(token.children or [], allowed, sources))
    return "\n".join(lines)


def _leads_out(tokens: Sequence[Token], allowed: frozenset[str]) -> bool:
    if any(token.type in ("image", "html_inline") or token.level >= NESTED - 1 for token in tokens):
        return True
    for link in (token for token in tokens if token.type == "link_open"):
        if link.attrs.get("href", "") not in allowed or "title" in link.attrs:
            return True
    if any(token.type == "text" and _harmless(token.content) != token.content for token in tokens):
        return True
    shown = "".join(token.content for token in tokens if token.type in ("text", "text_special"))
    return any(token.type == "text_special" for token in tokens) and bool(addresses([shown]) - allowed)


def _rebuilt(tokens: Sequence[Token], allowed: frozenset[str], sources: Sequence[str]) -> str:
    """Return inline Markdown as it was written, without removed links."""
    shown = "".join(token.content for token in tokens if token.type in ("text", "text_special"))
    hides_address = bool(addresses([shown]) - allowed)
    parts: list[str] = []
    kept: list[str] = []
    for token in tokens:
        match token.type:
            case "link_open":
                href = str(token.attrs.get("href", ""))
                is_kept = href in allowed and token.markup != "autolink"
                kept.append(f"]({href})" if is_kept else "")
                parts.append("[" if is_kept else "")
            case "link_close":
                end = kept.pop()
                is_citation = not end and parts[-1].isdigit()
                parts[-1:] = [f"[{parts[-1]}]" if is_citation else parts[-1], end]
            case "image":
                parts.append(_rebuilt(token.children or [], allowed, sources))
            case "html_inline":
                is_quoted = "`" not in token.content and any(token.content in source for source in sources)
                parts.append(f"`{token.content}`" if is_quoted else "")
            case "code_inline":
                space = " " if token.content.startswith("`") or token.content.endswith("`") else ""
                parts.append(f"{token.markup}{space}{token.content}{space}{token.markup}")
            case "text_special":
                parts.append("" if hides_address else token.markup)
            case "softbreak":
                parts.append("\n")
            case "hardbreak":
                parts.append("\\\n")
            case "text":
                parts.append(_harmless(token.content))
            case _:
                parts.append(token.markup)
    return "".join(parts)


def _replace(lines: list[str], first: int, old: str, new: str) -> None:
    """Replace inline text, keeping the marks of lists and quotations."""
    written, count = old.split("\n"), old.count("\n") + 1
    places = [line.rfind(content) for line, content in zip(lines[first : first + count], written, strict=False)]
    if -1 in places or len(places) < count:
        lines[first : first + count] = new.split("\n")
        return
    before = [line[:place] for line, place in zip(lines[first:], places, strict=False)]
    after = lines[first + count - 1][places[-1] + len(written[-1]) :]
    texts = new.split("\n")
    texts[-1] += after
    lines[first : first + count] = [before[min(n, count - 1)] + number for n, number in enumerate(texts)]


def _harmless(text: str) -> str:
    """Return text outside code without the beginnings of tags and without addresses that lack a scheme."""
    return _MARKUP.sub("&lt;", _HOST.sub(REMOVED, text))


def _untargeted(text: str, allowed: frozenset[str]) -> str:
    """Remove other targets behind brackets that lead to a host or a program."""

    def keep(match: re.Match[str]) -> str:
        written = html.unescape(match["target"])
        # behind a colon, text such as `Note: x` is no target
        following = "x" if match["mark"].endswith("(") else text[match.end() : match.end() + 50].lstrip("\t\r\n")[:1]
        targets = {_SPACE.sub("", written.replace("\\", as_read)) for as_read in ("", "/")}
        is_kept = all(target.rstrip(_TAIL) in allowed or not _LEADS_OUT.match(target + following) for target in targets)
        return match[0] if is_kept else f"{match['mark'][0]} {REMOVED}"

    return _TARGET.sub(keep, text)


def _plain(text: str, allowed: frozenset[str]) -> str:
    """Remove addresses that are not allowed, in any notation."""

    def keep(match: re.Match[str]) -> str:
        address = match[0].rstrip(_TAIL)
        is_whole = len(address) < len(match[0]) or bool(_CLOSED.match(text, match.end()))
        if address in allowed and is_whole:
            return match[0]
        if address in allowed and text.startswith("[", match.end()):
            return match[0] + " "
        return REMOVED + match[0][len(address) :]

    return _ADDRESS.sub(keep, text)
