"""Digests of a model's files, computed by the worker, which does not trust the model server.

Digests are kept until a file changes: they are needed for the delivery and for the digest of the model.
"""

import threading
from concurrent.futures import Future
from pathlib import Path

from evaluator.execution.experts import weights


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes in hexadecimal, kept until the file changes (`weights.FileDigests`).

    Raises:
        OSError: it cannot be read.
    """
    return weights.known_digest(path)


def model_digest(folder: Path) -> str:
    """`weights_digest` with kept digests of files.

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
