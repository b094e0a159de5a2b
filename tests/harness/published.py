"""Keys, and published indexes of projects with the hash model."""

import base64
from contextlib import closing
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from lore_etl.files.git_folder import head
from lore_etl.index import Index
from lore_etl.pipeline.publish import Published, install, nearest, publish
from lore_etl.pipeline.sync import sync
from lore_etl.stores.target import Target
from tests.harness.projects import SMALL, open_index

KEY, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))


def private(key: Ed25519PrivateKey = KEY) -> str:
    """Return the text of a private key."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def public(key: Ed25519PrivateKey = KEY) -> str:
    """Return the public key as the configuration names it."""
    return base64.b64encode(key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()


def target_at(folder: Path) -> Target:
    return Target(str(folder), "a test")


def publish_project(root: str, folder: str, branch: str = "main") -> Published:
    """Sync a repository, and publish its index."""
    with closing(open_index(Path(root), limits=SMALL)) as index:
        sync(index)
        return publish(index, target_at(Path(folder)), private(), branch, 30, lambda path: True)[0]


def fetch_into(index: Index, folder: Path) -> Published:
    """Replace an index by the snapshot of the project's commit."""
    found = nearest(target_at(folder), [public()], [str(head(index.root).commit)])
    install(index, target_at(folder), found)
    return found


def fetch_project(root: str, folder: str) -> None:
    """Replace the index of a repository, and sync."""
    with closing(open_index(Path(root), limits=SMALL)) as index:
        fetch_into(index, Path(folder))
        sync(index)
