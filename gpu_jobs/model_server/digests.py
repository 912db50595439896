"""Digests of a model's files, computed by the worker, which does not trust the model server.

Digests are cached until a file changes: they are needed for the delivery and for the digest of the model.
"""

import threading
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path

from evaluator.execution.experts import weights


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes in hexadecimal, cached until its size or one of its times changes.

    Raises:
        OSError: it cannot be read.
    """
    status = path.stat()
    return _digest(str(path.resolve()), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@lru_cache(maxsize=1024)
def _digest(path: str, *_facts: int) -> str:
    return weights.file_digest(Path(path))


def model_digest(folder: Path) -> str:
    """`weights_digest` with cached digests of files.

    Raises:
        WeightsError: there are no weights.
        OSError: a file cannot be read.
    """
    return weights.weights_digest(folder, digest_of=file_digest)


def model_digest_soon(folder: Path) -> "Future[str]":
    """`model_digest` in a daemon thread, while the model is loaded."""
    future: Future[str] = Future()

    def compute() -> None:
        try:
            future.set_result(model_digest(folder))
        except BaseException as error:  # noqa: BLE001 - raised again by `Future.result`
            future.set_exception(error)

    threading.Thread(target=compute, name="weights digest", daemon=True).start()
    return future
