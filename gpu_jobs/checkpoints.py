"""A worker's cache of uploaded checkpoints, which are downloaded by a call of the attempt, checked and unpacked."""

import hashlib
import logging
import os
import shutil
from pathlib import Path
from typing import Protocol

import psutil

from evaluator.core.private_files import private_folder
from gpu_jobs.client import ApiClient
from gpu_jobs.contract import CheckpointModel, Lease

logger = logging.getLogger(__name__)

KEPT = 3
"""Most recently used checkpoints that stay on the worker's disk."""
_MOST_UNPACKED_TIMES = 3
"""Largest unpacked size, as a multiple of the zip's; the site allows less. Weights hardly compress."""
_ROOM_FOR_SMALL = 64 * 1024 * 1024
"""Unpacked size that is always allowed, since vocabularies compress well."""


class CheckpointError(Exception):
    """A checkpoint differs from the site's announcement; a retry may succeed."""


class Checkpoints(Protocol):
    """Source of unpacked checkpoints."""

    def folder(self, lease: Lease, planner: CheckpointModel) -> Path:
        """The folder with the checkpoint's files.

        Raises:
            CheckpointError: it differs from the announcement.
            ModelRefusedError: it is not allowed.
        """
        ...


class CheckpointCache:
    """At most `KEPT` folders by digest, for this process only: another one might remove a folder in use."""

    def __init__(self, *, client: ApiClient, folder: Path) -> None:
        """Args:
        client: the API.
        folder: for all workers of this machine; each creates its own folder in it.
        """
        self._client = client
        self._folder = folder / str(os.getpid())

    def close(self) -> None:
        """Delete this process's folder, and those of processes that were killed."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for other in self._folder.parent.glob("[0-9]*"):
            if not psutil.pid_exists(int(other.name)):
                shutil.rmtree(other, ignore_errors=True)

    def folder(self, lease: Lease, planner: CheckpointModel) -> Path:
        """See `Checkpoints.folder`."""
        from evaluator.sandbox.admission.checkpoint_zip import unpack

        folder = self._folder / planner.digest
        if not folder.is_dir():
            archive = self._download(lease=lease, planner=planner)
            try:
                limit = max(_MOST_UNPACKED_TIMES * planner.bytes, _ROOM_FOR_SMALL)
                unpack(archive, folder=folder, most_unpacked_bytes=limit)
            finally:
                archive.unlink(missing_ok=True)
        os.utime(folder)
        folders = sorted((path for path in self._folder.iterdir() if path.is_dir()), key=lambda path: -_used(path))
        for old in folders[KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
        return folder

    def _download(self, *, lease: Lease, planner: CheckpointModel) -> Path:
        """The zip on disk, checked against the lease's digest."""
        private_folder(self._folder)
        archive = self._folder / f".{planner.digest}.zip"
        digest, received = hashlib.sha256(), 0
        logger.info("downloading the checkpoint %s: %d bytes", planner.digest[:12], planner.bytes)
        with archive.open("wb") as file:
            while piece := self._client.checkpoint(lease=lease, digest=planner.digest, start=received):
                received += len(piece)
                if received > planner.bytes:
                    break
                digest.update(piece)
                file.write(piece)
        if received != planner.bytes or digest.hexdigest() != planner.digest:
            archive.unlink()
            raise CheckpointError(f"the checkpoint {planner.digest[:12]} differs from the site's announcement")
        return archive


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
