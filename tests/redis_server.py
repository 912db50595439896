"""A Redis for tests: Debian's `redis-server` on a free port of this machine, in a folder of its own."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

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
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        port = int(probe.getsockname()[1])
    options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(
        [program, *options, "--databases", str(DATABASES)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        _wait(port=port, process=process)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=10)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(*, port: int, process: "subprocess.Popen[bytes]") -> None:
    client = redis.Redis(host="127.0.0.1", port=port)
    until = time.monotonic() + 15
    while True:
        try:
            client.ping()
            client.close()
            return
        except redis.ConnectionError:
            assert process.poll() is None, f"redis-server ended with code {process.returncode}"
            assert time.monotonic() < until, "redis-server does not answer"
            time.sleep(0.05)
