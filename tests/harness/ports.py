"""Find ports that nothing else takes before the test does."""

import errno
import random
import socket

OWN = range(20_000, 30_000)
"""No system assigns these ports to sockets that ask for any port, such as those of concurrent tests."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    while True:
        port = random.choice(OWN)
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return port
