"""Remove secrets from a text before it is stored anywhere.

Kingfisher finds them by its own rules and those of `secrets.yml`; replacements keep the line numbers. Values that
merely look random stay, because people search for hashes and ids. Wallet keys are recognised by their checksums.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import re2

from lore_etl.config.project import cache_folder
from lore_etl.core.model import sha256

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

Span = tuple[int, int, str]  # first byte, end, kind of secret
RULES = Path(__file__).parent / "secrets.yml"
_CODE_VERSION = 5  # increase it when the code below finds other secrets
BLOCK_BYTES = 48_000  # from 64 KiB on, the scanner needs quadratic time for thousands of matches
OVERLAP_BYTES = 4_000  # longer than almost every secret
SHORT_BYTES = 1_000  # the keys of wallets have no fixed part: only short texts and those about wallets are searched
LONG_LINE = 500  # the patterns for a key's lines need quadratic time
# Their matches are whole keys and JSON objects: `_without_private_keys` and the rules for names replace less.
_WHOLE_FILES = ("private-key", "gcp-application-default-credentials", "gcp-service-account")
_KEY_BEGIN = re.compile(r"(?m)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|^[ \t#*>|]{0,40}Private-Lines: \d+")
_KEY_WORDS = ("PRIVATE KEY", "Private-Lines: ")  # every match of `_KEY_BEGIN` contains one; both are found quickly
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|^[ \t#*>|]{0,40}Private-MAC:")
_KEY_LINE = re.compile(r"^[\s#*/>|\"'+]*?([A-Za-z0-9+/=]++)(?:\\[nr]|[\s\\\"',;+])*+$")
_KEY_HEADER = re.compile(r"^[\s#*/>|\"'+]*+(?:[A-Z][A-Za-z-]{2,30}: [^\n]{0,200})?(?:\\[nr]|[\s\\\"',;+])*+$")
_KEY_TEXT = re.compile(r"(?:[A-Za-z0-9+/=]|\\[nr]){16,}")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_PLACEHOLDER = re.compile(
    r"(?i)example|placeholder|change.?me|your[-_ ]?|replace|redacted|dummy|insert|todo|fixme|sample|\.\.\.|\*{3}|x{6}"
    r"|^<|^\[\^|[<{]\w|^\$|\$[{(]|%\(\w+\)|^%s$|^%\w+%$|^env[:.]|environ|getenv|process\.|secrets?\.|vault:|^https?:|^file:"
    r"|^[.~]?/(?:etc|run|var|usr|home|tmp|opt|mnt|path|secrets?)/|^\.{1,2}/|^none$|^null$"
)
_WEAK = frozenset(
    "password passwd passphrase pass pwd passw0rd secret secretkey token key apikey api my the a test testing tests "
    "admin root user username foo bar baz abc welcome postgres mysql redis guest "
    "demo fake mock some value super very strong hello world new old wrong correct right bad good invalid valid plain "
    "text string hashed".split()
)
_INDEXED = re.compile(r"[A-Za-z_$][\w.$]*\[(?:-?[\w.]*\][\w.\[)\],]*)?")  # `password=auth[1])` is code
_PASSWORDS = ("pass", "pwd", ":", "=", "：", "＝")  # `named.password` captures the mark behind a name of any language
_HEADERS = ("bearer", "basic", "ssws")
_PARTS = re.compile(r"[-_.:/]+")
_COOKIE = re.compile(rb"""=([^\s;,"'`]{8,})""")
_KEY = "[redacted-private-key]"
_BASE58 = {char: digit for digit, char in enumerate("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")}
_LENGTHS = (24, 21, 18, 15, 12)
_WALLET_WORD = re.compile(b"[a-z]+")
_WALLET_KEYS = re2.compile(  # words may be numbered, quoted, or on lines of their own
    rb"\b(?:[59KLc][1-9A-HJ-NP-Za-km-z]{50,51}|(?:[a-z]{3,8}[^A-Za-z]{1,8}){11,}[a-z]{3,8})\b"
)


def redact(text: str) -> tuple[str, int]:
    """Return the text without its secrets, and their number. Most languages read `[redacted-secret]` as a list."""
    text, keys = _without_private_keys(text)
    data = text.encode("utf-8", "surrogatepass")
    spans = _merged(_spans(data))
    if not spans:
        return text, keys
    parts, done = [], 0
    for start, end, kind in spans:
        lines = data[start:end].count(b"\n") + 1
        parts += [data[done:start], b"\n".join([f"[redacted-{kind}]".encode()] * lines)]
        done = end
    return b"".join([*parts, data[done:]]).decode("utf-8", "surrogatepass"), keys + len(spans)


def _spans(data: bytes) -> Iterator[Span]:
    """Search blocks of whole lines. A line longer than a block is split into overlapping pieces."""
    start = 0
    while start < len(data):
        end = start + BLOCK_BYTES
        after_line = data.rfind(b"\n", start, end) + 1 if end < len(data) else 0
        for first, last, kind in _spans_of_block(data[start : after_line or end]):
            yield start + first, start + last, kind
        start = after_line or (end - OVERLAP_BYTES if end < len(data) else end)


def _spans_of_block(data: bytes) -> Iterator[Span]:
    is_about_wallets = len(data) <= SHORT_BYTES
    for found in _scanner().scan(data):
        kind = found.rule_id.rpartition("/")[2].removeprefix("betterleaks.").removeprefix("lore.")
        if not found.visible or kind in _WHOLE_FILES:
            continue
        value, start, end = found.secret, found.location["start_offset"], found.location["end_offset"]
        if kind == "hint.wallet":
            is_about_wallets = True
        elif kind == "hint.cookies":
            for match in _COOKIE.finditer(data, start, end):
                if is_secret("cookie", match[1].decode("latin-1")):
                    yield *match.span(1), "cookie"
        elif kind.startswith(("named.", "generic-", "curl-")):
            name = found.captures.get("KEY", "")
            after = "[" if name == "=" and data[end : end + 1] == b"[" else ""
            if is_secret(name, value + after):
                yield start, end, "secret"
        elif len(set(value[-12:])) >= 3:
            yield start, end, kind.removeprefix("token.").partition(".")[0]
    if is_about_wallets:
        yield from ((start, end, "wallet") for start, end in _wallet_keys(data))


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged = list[Span]()
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1], span[2] == "secret", span[2])):
        if merged and start < merged[-1][1]:
            first, last, kept = merged[-1]
            merged[-1] = first, max(last, end), kept
        else:
            merged.append((start, end, kind))
    return merged


def is_secret(name: str, value: str) -> bool:
    """Judge a value after a name such as `password` or `token`. The name is empty if the syntax requires a password."""
    words = [word.lower() for word in _WORDS.findall(value)]
    letters = [word for word in words if not word.isdigit()]
    if not letters or all(word in _WEAK for word in letters):
        return False
    is_random = any(_is_random(part) for part in _PARTS.split(value))
    placeholder = _PLACEHOLDER.search(value)
    if placeholder and not (is_random and placeholder[0].lower() == "example"):  # AWS's own examples look real
        return False
    if not name or is_random:
        return True
    has_digits = len(letters) < len(words)
    if name.lower() in _HEADERS:
        return has_digits
    is_password = any(password in name.lower() for password in _PASSWORDS) and not _INDEXED.fullmatch(value)
    return is_password and (has_digits or any(mark in "!@#$%^&*?~=+" for mark in value))


def _is_random(part: str) -> bool:
    """Return whether letters, digits and case alternate more than in words, versions or dates."""
    words = _WORDS.findall(part)
    longest = 4.5 if len(part) >= 24 else 3.3  # on average
    return len(part) >= 8 and len(words) >= 4 and sum(map(len, words)) <= longest * len(words) and len(set(part)) >= 6


def _without_private_keys(text: str) -> tuple[str, int]:
    """Return the text without private keys, complete or not, and their number."""
    if not any(words in text for words in _KEY_WORDS) or not _KEY_BEGIN.search(text):
        return text, 0
    lines, inside, is_new, found = text.split("\n"), False, False, 0
    for index, line in enumerate(lines):
        begin, end = _KEY_BEGIN.search(line), _KEY_END.search(line)
        if begin:
            kept, inside, is_new = begin.end(), not end, True
            lines[index] = line[:kept] + _KEY_TEXT.sub(_KEY, line[kept:])
        elif inside and not end and len(line) > LONG_LINE:
            lines[index] = _KEY_TEXT.sub(_KEY, line)
        elif inside and not end:
            body = _KEY_LINE.match(line)
            is_last = index + 1 < len(lines) and bool(_KEY_END.search(lines[index + 1]))
            if body and (len(body[1]) >= 16 or is_last or body[1].startswith("=")):
                lines[index] = _KEY
            elif not _KEY_HEADER.match(line):
                inside = False
        else:
            inside = False
        if is_new and lines[index] != line:
            found, is_new = found + 1, False
    return "\n".join(lines), found


@cache
def _scanner() -> Scanner:
    from kingfisher_sdk import Rules, Scanner

    folder = (cache_folder() / "secrets").resolve()  # in a symlinked folder, the rules would be compiled every time
    return Scanner(Rules([RULES], cache_dir=folder), base64=False)


@cache
def redaction_version() -> str:
    """Return a text that changes with the rules, but not with comments, because it has every file read again."""
    rules = sha256(re.sub(r"(?m)^[ \t]*#.*\n", "", RULES.read_text(encoding="utf-8")))[:16]
    return f"{_CODE_VERSION} {rules} {version('kingfisher-secret-scanner')}"


@cache
def bip39_words() -> dict[bytes, int]:
    words = Path(__file__).with_name("bip39.txt").read_bytes().split()
    return {word: number for number, word in enumerate(words)}


def _wallet_keys(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the first byte and the end of each mnemonic and private key with a valid checksum; they may overlap."""
    for match in _WALLET_KEYS.finditer(data):
        start, text = match.start(), match[0].decode("ascii", "replace")
        if text.isalnum() and is_base58check(text):
            yield match.span()
        else:
            yield from ((start + first, start + end) for first, end in _mnemonics(match[0]))


def _mnemonics(data: bytes) -> Iterator[tuple[int, int]]:
    words = list(_WALLET_WORD.finditer(data))
    numbers = [bip39_words().get(word[0]) for word in words]
    if len(numbers) - numbers.count(None) < min(_LENGTHS):
        return
    for first in range(len(words)):
        for length in _LENGTHS:
            if _is_mnemonic(numbers[first : first + length], length):
                yield words[first].start(), words[first + length - 1].end()


def _is_mnemonic(numbers: list[int | None], length: int) -> bool:
    if len(numbers) < length or None in numbers or len(set(numbers)) == 1:  # a sample text repeats one word
        return False
    bits = sum((number or 0) << 11 * place for place, number in enumerate(reversed(numbers)))
    checked = length // 3  # bits of the checksum
    entropy = (bits >> checked).to_bytes(4 * checked)
    return hashlib.sha256(entropy).digest()[0] >> (8 - checked) == bits & ((1 << checked) - 1)


def is_base58check(text: str) -> bool:
    number = 0
    for char in text:
        number = 58 * number + _BASE58[char]
    data = number.to_bytes((number.bit_length() + 7) // 8)
    return hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]
