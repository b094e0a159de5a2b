"""Run a real Chroma server (`chroma run`), with a proxy that records and refuses requests and can use TLS."""

import datetime
import http.client
import ipaddress
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harness.local_server import QuietHandler, listening
from tests.harness.ports import free_port

CHROMA = "import chromadb_rust_bindings, sys; chromadb_rust_bindings.cli(sys.argv)"
"""Chroma's console script without the import of its Python package, which takes longer than the start of the server."""
DATABASES = "/api/v2/tenants/{tenant}/databases"
COLLECTIONS = f"{DATABASES.format(tenant='default_tenant')}/default_database/collections"


@dataclass(frozen=True)
class Running:
    """A running `chroma run`."""

    port: int
    process: subprocess.Popen[str]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send the server a single request without a Chroma client."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        found = json.loads(reply.read())
        connection.close()
        assert reply.status < 300, found
        return found

    def collections(self, tenant: str = "default_tenant", database: str = "default_database") -> dict[str, int]:
        """Return the rows of each collection by its name."""
        base = f"{DATABASES.format(tenant=tenant)}/{database}/collections"
        return {answer["name"]: self.ask("GET", f"{base}/{answer['id']}/count") for answer in self.ask("GET", base)}


@contextmanager
def chroma_running(folder: Path) -> Iterator[Running]:
    """Run `chroma run` on a free port of this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    process, port = _started(folder)
    assert process.stdout
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    try:
        yield Running(port, process)
    finally:
        process.terminate()
        process.wait(120)
        drain.join()
        process.stdout.close()


def _started(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start the server and wait until it accepts connections; try another port if this one was taken meanwhile."""
    while True:
        port = free_port()
        process = subprocess.Popen(
            [sys.executable, "-c", CHROMA, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert process.stdout
        output = list(itertools.takewhile(lambda line: "listening on" not in line, process.stdout))
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return process, port
            os.sched_yield()
        process.stdout.close()
        assert any("is not available" in line for line in output), output


@dataclass
class Gate:
    """The requests that passed the proxy."""

    port: int = 0
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    """Method, path, body."""
    headers: list[dict[str, str]] = field(default_factory=list)
    refuse: Callable[[dict[str, str]], tuple[int, str] | None] = lambda headers: None
    """Takes a request's headers in lower case; returns the status and body of a refusal, or None to let it through."""


@contextmanager
def gate_before(port: int, certificate: Path | None = None) -> Iterator[Gate]:
    """Run a proxy for the server on that port; with a certificate, it uses TLS."""
    gate = Gate()

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {key.casefold(): value for key, value in self.headers.items()}
            gate.headers.append(headers)
            gate.requests.append((self.command, self.path, json.loads(content) if content else None))
            refusal = gate.refuse(headers)
            status, text = refusal or self.forward(content)
            self.send(status, text.encode(), {"Content-Type": "application/json"})

        def forward(self, content: bytes) -> tuple[int, str]:
            behind = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            behind.request(self.command, self.path, content or None, {"Content-Type": "application/json"})
            reply = behind.getresponse()
            text = reply.read().decode()
            behind.close()
            return reply.status, text

        do_GET = do_POST = do_DELETE = do_PUT = handle_any

    with listening(Handler, certificate) as gate.port:
        yield gate


@contextmanager
def silent_server() -> Iterator[int]:
    """Listen on a port that accepts connections and never replies."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def self_signed(folder: Path) -> Path:
    """Create a self-signed certificate for 127.0.0.1, with its key in the same PEM file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return file
