"""What a demo has to itself while it runs: its address on this machine, and its data folder."""

import errno
import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluator.core.private_files import keep_private
from leaderboard.operations.demo.processes import DemoError

FIRST_PORT = 8000
PORTS_TRIED = 100


def listening_socket(port: int | None, *, first: int = FIRST_PORT) -> socket.socket:
    """A socket that listens on 127.0.0.1, to be handed to the web server.

    It is opened here and not by the server, so that no other program can take the port in between.

    Args:
        port: the only port wanted; None: `first`, or the next one that is free.
        first: where the search begins.

    Raises:
        DemoError: the port, or every port that was tried, is in use or not allowed for this user.
    """
    if port is not None:
        try:
            return _listen(port)
        except OSError as error:
            raise DemoError(_why(port=port, error=error)) from None
    for candidate in range(first, min(first + PORTS_TRIED, 65_536)):
        try:
            return _listen(candidate)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise DemoError(_why(port=candidate, error=error)) from None
    return _listen(0)


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. uvicorn takes what it is handed for a Unix socket and would leave it off.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def _why(*, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"127.0.0.1:{port} is in use; stop what uses it, choose another port with --port, or leave --port out to "
            "get a free one."
        )
    if error.errno == errno.EACCES:
        return f"127.0.0.1:{port} is not allowed for this user; choose a port above 1023 with --port."
    return f"127.0.0.1:{port} cannot be used ({error.strerror}); choose another port with --port."


@contextmanager
def only_demo_of(data: Path) -> Iterator[Path]:
    """Keep a second demo out of a data folder: it would end the processes of the first as left over by a crash.

    Yields:
        The file to write the demo's address into, for the message that a second demo gets.

    Raises:
        DemoError: another demo runs there.
    """
    path = data / "demo.lock"
    data.mkdir(parents=True, exist_ok=True)
    keep_private(data)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            address = path.read_text().strip()
            where = f" at {address}" if address else ""
            raise DemoError(
                f"A demo already runs in the data folder {data}{where}. Use that one, stop it, or set PLANARENA_DATA "
                "to another folder for a second one."
            ) from None
        path.write_text("")
        yield path
