"""Digests of a model's files, computed by the worker, which does not trust the model server.

Each file is read once for as long as it does not change: its digest is needed when it is delivered, and again for the
digest of the model.
"""

import threading
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path

from evaluator.execution.experts import weights


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes in hexadecimal; read again only if its size or one of its times has changed.

    Raises:
        OSError: it cannot be read.
    """
    found = path.stat()
    return _digest(str(path.resolve()), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@lru_cache(maxsize=1024)
def _digest(path: str, *_facts: int) -> str:
    return weights.file_digest(Path(path))


def model_digest(folder: Path) -> str:
    """As `weights_digest`, which is the definition.

    Raises:
        WeightsError: there are no weights.
        OSError: a file cannot be read.
    """
    return weights.weights_digest(folder, digest_of=file_digest)


def model_digest_soon(folder: Path) -> "Future[str]":
    """`model_digest` in a thread, while the model is loaded: reading the files takes as long for both."""
    found: Future[str] = Future()

    def compute() -> None:
        try:
            found.set_result(model_digest(folder))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            found.set_exception(error)

    threading.Thread(target=compute, name="weights digest", daemon=True).start()
    return found
