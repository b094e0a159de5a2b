"""Servers that misbehave at the level of the network: silent, slow, cut off in the middle, or lying.

`python -m tests.harness.neighbours BEHAVIOUR PORT` serves until its standard input ends.
"""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
PAUSE_SECONDS = 0.1
Behaviour = Callable[[socket.socket, threading.Event], None]
"""Answers a request on a connection until the event ends the server."""


def silent(connection: socket.socket, over: threading.Event) -> None:
    over.wait()


def slow_head(connection: socket.socket, over: threading.Event) -> None:
    """Send the first lines byte by byte, without an end."""
    _drip(connection, over, b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000)


def slow_body(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(HEAD % 1_000_000)
    _drip(connection, over, b" " * 1_000_000)


def cut(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(HEAD % 1_000 + b'{"id": ')


def rubbish(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(HEAD % 29 + b"<html>not what you think</html")


def wrong_types(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(HEAD % 9 + b"[1, null]")


def huge(connection: socket.socket, over: threading.Event) -> None:
    """Announce a terabyte, and send it as fast as it is read."""
    connection.sendall(HEAD % 10**12)
    while not over.is_set():
        connection.sendall(b" " * 1_000_000)


BEHAVIOURS: dict[str, Behaviour] = {
    behaviour.__name__.replace("_", " "): behaviour
    for behaviour in (silent, slow_head, slow_body, cut, rubbish, wrong_types, huge)
}


def _drip(connection: socket.socket, over: threading.Event, data: bytes) -> None:
    for byte in data:
        if over.wait(PAUSE_SECONDS):
            return
        connection.sendall(bytes([byte]))


@contextmanager
def misbehaving(behaviour: Behaviour, port: int = 0) -> Iterator[int]:
    """Serve one request per connection in this way, on a port of this machine or a free one, and yield the port."""
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:  # the client has given up
            connection.recv(65_536)
            behaviour(connection, over)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def misbehaving_apart(behaviour: str, port: int) -> Iterator[None]:
    """Serve in another process, whose work does not delay this one's threads."""
    command = [sys.executable, "-m", __name__, behaviour, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        yield
        server.kill()


if __name__ == "__main__":
    with misbehaving(BEHAVIOURS[sys.argv[1]], int(sys.argv[2])) as served:
        sys.stdout.write(f"{served}\n")
        sys.stdout.flush()
        sys.stdin.read()
