"""A network that breaks at the worst moment: a proxy that takes requests to a server and may lose the answers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from tests.fakes.serving import accepting, carry


class CuttingProxy:
    """Hands bytes on between clients and one server."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname, parts.port)
        self.url = ""
        self.lose_answers = 0
        """How many of the next answers are lost, after the server has done what was asked."""
        self.lost: list[bytes] = []

    def serve(self, client: socket.socket) -> None:
        with socket.create_connection(self._upstream) as server:
            back = threading.Thread(target=self._answer, args=(server, client), daemon=True)
            back.start()
            carry(client, server)
            back.join(timeout=10)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if self.lose_answers:
                    self.lose_answers -= 1
                    self.lost.append(data)
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)


@contextmanager
def cutting(upstream: str) -> Iterator[CuttingProxy]:
    """A proxy before a server."""
    proxy = CuttingProxy(upstream)
    with accepting(proxy.serve) as port:
        proxy.url = f"http://127.0.0.1:{port}"
        yield proxy
