"""A Redis for tests: Debian's `redis-server` on a free port of this machine, in a folder of its own."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.processes import Program, free_port

DATABASES = 256


@contextmanager
def redis_server(port: int = 0) -> Iterator[str]:
    """Its address without a database's number, as in `redis://127.0.0.1:1234`. It is ended by its process id.

    Args:
        port: where it listens, such as that of one that has ended; 0 is a free one.
    """
    program = shutil.which("redis-server")
    assert program is not None, "redis-server is not on the PATH; ./planarena test installs it when run by root"
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    port = port or free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", "", "--appendonly", "no"]
    command = [program, *options, "--databases", str(DATABASES)]
    server = Program(command, log=folder / "log")
    try:
        server.wait_for(lambda: _answers(port), what="an answer of redis-server", seconds=15, every=0.05)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.stop(seconds=10)
        shutil.rmtree(folder, ignore_errors=True)


def _answers(port: int) -> bool:
    with redis.Redis(host="127.0.0.1", port=port) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False
