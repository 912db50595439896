"""A process that takes what it is told to take: `evaluator.sandbox.limited_process` calls it."""

import mmap
import os
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

from evaluator.sandbox.limited_process import serve


def take(request: Any) -> Any:
    """Take it, and answer the request."""
    match request:
        case "time":
            while True:
                pass
        case "memory":
            return len(bytearray(2 * 1024**3))
        case "patience":
            time.sleep(60)
        case "an answer":
            return "x" * 20_000_000
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "a defect":
            raise ArithmeticError("a defect")
        case "a file":
            with tempfile.TemporaryFile() as file:
                file.write(bytes(100_000))
                file.flush()
        case "processes":
            return [os.fork() for _ in range(10)]
        case "shared memory":
            return len(mmap.mmap(-1, 2**20))
        case "memory files":
            return [os.memfd_create("x") for _ in range(10)]
        case "pipes":
            return [os.pipe() for _ in range(10)]
        case "sockets":
            return [str(socket.socketpair()) for _ in range(10)]
        case "many files":
            for number in range(1000):
                Path(f"/tmp/planarena-greedy-{os.getpid()}-{number}").write_bytes(bytes(60_000))
        case "names":
            Path(f"/tmp/planarena-greedy-{os.getpid()}").symlink_to("x" * 2000)
        case "process id":
            return os.getpid()
        case "secrets":
            return sorted(os.environ)
    return request


if __name__ == "__main__":
    serve(take)
