"""Running servers in tests."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import HTTPServer, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """One for many requests at once: with the default of 5 waiting connections, others would be dropped."""

    request_queue_size = 256


@contextmanager
def in_a_thread(server: HTTPServer) -> Iterator[str]:
    """Answer requests until the context is left; its value is the server's URL."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def accepting(serve: Callable[[socket.socket], None], *, listener: socket.socket | None = None) -> Iterator[int]:
    """Serve each connection in a thread until the context is left; its value is the port.

    Args:
        serve: gets a connection, which is closed afterwards; that it breaks is no error.
        listener: where to listen; None: on a free port of 127.0.0.1.
    """
    listening = socket.create_server(("127.0.0.1", 0), backlog=128) if listener is None else listener

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        with suppress(OSError, EOFError), connection:
            serve(connection)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def carry(source: socket.socket, target: socket.socket) -> None:
    """Pass on bytes until there are no more."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def request_of(connection: socket.socket) -> tuple[bytes, bytes]:
    """Head and body of an HTTP request.

    Raises:
        EOFError: the connection ended before it was complete.
    """
    received = b""
    while b"\r\n\r\n" not in received:
        received += _some(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += _some(connection)
    return head, body


def _some(connection: socket.socket) -> bytes:
    if not (data := connection.recv(65536)):
        raise EOFError
    return data
