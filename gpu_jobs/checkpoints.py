"""Checkpoints that users uploaded, on a worker: fetched through the attempt that needs them, checked, and unpacked."""

import hashlib
import logging
import os
import shutil
from pathlib import Path
from typing import Protocol

import psutil

from evaluator.core.private_files import private_folder
from gpu_jobs.client import ApiClient
from gpu_jobs.contract import CheckpointPlanner, Lease

logger = logging.getLogger(__name__)

KEPT = 3
"""Unpacked checkpoints that stay on the worker's disk, those used last."""
_MOST_UNPACKED_TIMES = 3
"""What a zip may unpack to, as a multiple of its size; the site allows less. Weights hardly compress."""
_ROOM_FOR_SMALL = 64 * 1024 * 1024
"""Vocabularies compress well: small checkpoints may unpack to this much whatever their size."""


class CheckpointError(Exception):
    """A checkpoint did not come as the site announced it; asked again, it may."""


class Checkpoints(Protocol):
    """Where the runner gets unpacked checkpoints from. Tests give a fake."""

    def folder(self, lease: Lease, planner: CheckpointPlanner) -> Path:
        """The folder with the checkpoint's files.

        Raises:
            CheckpointError: it did not come as announced.
            ModelRefusedError: it is none that is loaded.
        """
        ...


class CheckpointCache:
    """Folders by digest, at most `KEPT` of them, for this process alone: another one might remove what is in use."""

    def __init__(self, *, client: ApiClient, folder: Path) -> None:
        """Args:
        client: the API.
        folder: for all workers of this machine; each has a folder of its own in it, made when first needed.
        """
        self._client = client
        self._folder = folder / str(os.getpid())

    def close(self) -> None:
        """Delete this process's folder, and those of processes that were killed."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for other in self._folder.parent.glob("[0-9]*"):
            if not psutil.pid_exists(int(other.name)):
                shutil.rmtree(other, ignore_errors=True)

    def folder(self, lease: Lease, planner: CheckpointPlanner) -> Path:
        """See `Checkpoints.folder`."""
        from evaluator.sandbox.admission.checkpoint_zip import unpack

        found = self._folder / planner.digest
        if not found.is_dir():
            archive = self._fetched(lease=lease, planner=planner)
            try:
                unpack(archive, folder=found, most_unpacked_bytes=_most_unpacked(planner.bytes))
            finally:
                archive.unlink(missing_ok=True)
        os.utime(found)
        self._remove_old()
        return found

    def _fetched(self, *, lease: Lease, planner: CheckpointPlanner) -> Path:
        """The zip on disk, whose bytes have the digest that the lease names."""
        private_folder(self._folder)
        archive = self._folder / f".{planner.digest}.zip"
        digest, received = hashlib.sha256(), 0
        logger.info("fetching the checkpoint %s: %d bytes", planner.digest[:12], planner.bytes)
        with archive.open("wb") as file:
            while piece := self._client.checkpoint(lease=lease, digest=planner.digest, start=received):
                received += len(piece)
                if received > planner.bytes:
                    break
                digest.update(piece)
                file.write(piece)
        if received != planner.bytes or digest.hexdigest() != planner.digest:
            archive.unlink()
            raise CheckpointError(f"the checkpoint {planner.digest[:12]} did not come as it was announced")
        return archive

    def _remove_old(self) -> None:
        folders = sorted((path for path in self._folder.iterdir() if path.is_dir()), key=lambda path: -_used(path))
        for folder in folders[KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def _most_unpacked(archive_bytes: int) -> int:
    return max(_MOST_UNPACKED_TIMES * archive_bytes, _ROOM_FOR_SMALL)


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
