"""An OpenID provider on this machine, which publishes its keys and signs tokens with any claims."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.harness.local_server import QuietHandler, listening

AUDIENCE = "https://lore.example.com/mcp"


def new_key() -> rsa.RSAPrivateKey:
    """Return a key of a provider."""
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


@dataclass
class Provider:
    """A running provider, with the number of requests that it got."""

    address: str = ""
    key: rsa.RSAPrivateKey = field(default_factory=new_key)
    requests: list[str] = field(default_factory=list)
    is_away: bool = False

    def token(self, key: rsa.RSAPrivateKey | None = None, kid: str = "first", **claims: Any) -> str:
        """Return a signed token; claims replace the usual ones, and None removes one."""
        usual = {"iss": self.address, "aud": AUDIENCE, "sub": "alice", "exp": time.time() + 300, "groups": ["team"]}
        chosen = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(chosen, key or self.key, algorithm="RS256", headers={"kid": kid})


@contextmanager
def provider() -> Iterator[Provider]:
    """Run a provider."""
    running = Provider()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            running.requests.append(self.path)
            if running.is_away:
                self.send(503, b"", {})
                return
            public = {**RSAAlgorithm.to_jwk(running.key.public_key(), as_dict=True), "kid": "first", "use": "sig"}
            found: dict[str, Any] = {"keys": [public]}
            if self.path.startswith("/.well-known/"):
                found = {"issuer": running.address, "jwks_uri": f"{running.address}/keys"}
            self.send(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    with listening(Handler) as port:
        running.address = f"http://127.0.0.1:{port}"
        yield running
