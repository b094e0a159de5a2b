"""Generate secrets of all formats at run time, so that no file contains a secret."""

import base64
import hashlib
import random
import re
import string
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lore_etl.files.redaction import bip39_words

_LETTERS, _DIGITS = string.ascii_letters, string.digits
_ALPHABETS = {
    "": _LETTERS + _DIGITS,
    "letter": _LETTERS,
    "digit": _DIGITS,
    "hex": _DIGITS + "abcdef",
    "HEX": _DIGITS + "ABCDEF",
    "url": _LETTERS + _DIGITS + "_-",
    "b64": _LETTERS + _DIGITS + "+/",
    "base32": string.ascii_uppercase + "234567",
    "low32": string.ascii_lowercase + "234567",
    "base36": string.ascii_lowercase + _DIGITS,
    "upper36": string.ascii_uppercase + _DIGITS,
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "symbol": string.ascii_lowercase + _DIGITS + "!@#$%^&*(-_=+)",
}
_ARMOURS = ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ")
_FORMATS = Path(__file__).with_suffix(".txt")


@dataclass(frozen=True)
class Secret:
    """A secret and a text that contains it."""

    name: str
    value: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Return the lines of the secret; redaction must leave nothing of them."""
        lines = re.split(r"\n|\\n", self.value)
        return [line for line in lines if line and "KEY" not in line and ": " not in line]


def secrets(seed: int) -> Iterator[Secret]:
    """Return a secret of each format; another seed gives other secrets."""
    chance = random.Random(seed)
    for row in _FORMATS.read_text(encoding="utf-8").splitlines()[1:]:
        name, value, line = (*row.split(" | "), "@@")[:3]
        filled = _filled(value, chance)
        yield Secret(name, filled, _filled(line, chance).replace("@@", filled))
    for kind in _ARMOURS:
        key = _armoured(f"{kind}PRIVATE " + "KEY", chance)
        yield Secret(f"{kind}key", key, key)
        yield Secret(f"{kind}key in JSON", key, '{"private_key": "' + key.replace("\n", "\\n") + '"}')
        yield Secret(f"{kind}key in code", key, "\n".join(f'    "{line}\\n"' for line in key.split("\n")))
    key = _armoured("PGP PRIVATE " + "KEY BLOCK", chance, "Version: GnuPG v2\n\n")
    yield Secret("PGP key", key, key)
    body = "\n".join(_filled("{64:b64}", chance) for _ in range(3))
    yield Secret("PuTTY key", body, f"PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 3\n{body}\nPrivate-MAC: 12")
    yield Secret("key without an end", body, "-----BEGIN PRIVATE " + f"KEY-----\n{body}")


def _armoured(kind: str, chance: random.Random, head: str = "") -> str:
    body = "\n".join(_filled(line, chance) for line in ("{64:b64}", "{64:b64}", "{64:b64}", "{30:b64}=="))
    return f"-----{'BEGIN'} {kind}-----\n{head}{body}\n-----{'END'} {kind}-----"


def _filled(template: str, chance: random.Random) -> str:
    def fill(match: re.Match[str]) -> str:
        alphabet = _ALPHABETS[match[2] or ""]
        return "".join(chance.choice(alphabet) for _ in range(int(match[1])))

    text = re.sub(r"\{(\d+)(?::(\w+))?\}", fill, template)
    text = re.sub(r"\{base58:(\w+):(\d+):?(\w*)\}", lambda match: _base58(match[1], match[2], match[3], chance), text)
    text = re.sub(r"\{mnemonic:(\d+)\}", lambda match: _mnemonic(chance.randbytes(int(match[1]))), text)
    text = re.sub(r"\{uuid\}", lambda _: str(uuid.UUID(int=chance.getrandbits(128), version=4)), text)
    return re.sub(r"\{base64:([^}]+)\}", lambda match: base64.b64encode(match[1].encode()).decode(), text)


def _base58(prefix: str, count: str, suffix: str, chance: random.Random) -> str:
    """Return random bytes between two hexadecimal texts, with their checksum, in base 58."""
    data = bytes.fromhex(prefix) + chance.randbytes(int(count)) + bytes.fromhex(suffix)
    number = int.from_bytes(data + hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4])
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit] + text
    return text


def _mnemonic(entropy: bytes) -> str:
    """Return the words of BIP-39 for some bytes: their bits and those of the checksum, eleven for each word."""
    bits = "".join(f"{byte:08b}" for byte in entropy)
    bits += f"{hashlib.sha256(entropy).digest()[0]:08b}"[: len(entropy) // 4]
    words = [word.decode() for word in bip39_words()]
    return " ".join(words[int(bits[start : start + 11], 2)] for start in range(0, len(bits), 11))
