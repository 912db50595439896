"""A process that takes what it is told to take: `evaluator.limited_process` calls it."""

import os
import signal
import tempfile
import time
from typing import Any

from evaluator.limited_process import serve


def _take(request: Any) -> Any:
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
        case "secrets":
            return sorted(os.environ)
    return request


if __name__ == "__main__":
    serve(_take)
