"""Recognise the keys of wallets by their checksums, so that other words and names are not mistaken for them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import re2

_BASE58 = {char: digit for digit, char in enumerate("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")}
_LENGTHS = (24, 21, 18, 15, 12)
_WORD = re.compile(b"[a-z]+")
_CANDIDATES = re2.compile(  # words may be numbered, quoted, or on lines of their own
    rb"\b(?:[59KLc][1-9A-HJ-NP-Za-km-z]{50,51}|(?:[a-z]{3,8}[^A-Za-z]{1,8}){11,}[a-z]{3,8})\b"
)


@cache
def bip39_words() -> tuple[str, ...]:
    """Return the 2,048 English words of BIP-39 in their order."""
    return tuple(Path(__file__).with_name("bip39.txt").read_text(encoding="ascii").split())


@cache
def _numbers() -> dict[bytes, int]:
    return {word.encode(): number for number, word in enumerate(bip39_words())}


def wallet_keys(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the first byte and the end of each mnemonic and private key with a valid checksum; they may overlap."""
    for match in _CANDIDATES.finditer(data):
        start, text = match.start(), match[0].decode("ascii", "replace")
        if text.isalnum() and is_base58check(text):
            yield match.span()
        else:
            yield from ((start + first, start + end) for first, end in _mnemonics(match[0]))


def _mnemonics(data: bytes) -> Iterator[tuple[int, int]]:
    words = list(_WORD.finditer(data))
    numbers = [_numbers().get(word[0]) for word in words]
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
    """Return whether a text in base 58 ends with the checksum of its other bytes."""
    number = 0
    for char in text:
        number = 58 * number + _BASE58[char]
    data = number.to_bytes((number.bit_length() + 7) // 8)
    return hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]
