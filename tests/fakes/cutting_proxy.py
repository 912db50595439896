"""A network that breaks at the worst moment: a proxy that takes requests to a server and may lose the answers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class CuttingProxy:
    """Hands bytes on between clients and one server."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.lose_answers = 0
        """How many of the next answers are lost, after the server has done what was asked."""
        self.lost: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(self._upstream) as server:
            back = threading.Thread(target=self._answer, args=(server, client), daemon=True)
            back.start()
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
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
    try:
        yield proxy
    finally:
        proxy.close()
