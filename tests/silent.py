"""Servers that are away, in the ways in which servers are."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield listening.getsockname()[1]


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port at which nothing listens."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


AWAY = {"silent": silent_port, "refusing": refusing_port}
