"""Two releases side by side: the one before from the repository's history, and this one, on one database and store."""

import io
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from tests.crash.driving import Ground, Site, free_port
from tests.crash.effects import ROOT
from tests.crash.migrating import UPGRADED

PREVIOUS = "0ee69f144f4ac511b2c28d0ab6c8e4d5a44abf41"
"""Commit of the release before; changed with each release."""
_SHARED = ("store", "messages", "control", "workers")
_PAGES = (
    "", "boards/{suite}/", "boards/{suite}/snapshots/1/", "evaluations/", "status/", "api/v1/evaluations/",
    "api/v1/boards/{suite}/", "api/v1/boards/{suite}/snapshots/1/",
)  # fmt: skip


def previous_release(folder: Path) -> Path:
    """The files of the release before, in this folder."""
    done = subprocess.run(["git", "archive", PREVIOUS], cwd=ROOT, capture_output=True, check=False)
    assert not done.returncode, (
        f"The release before, {PREVIOUS}, is not in this clone: fetch the whole history. {done.stderr.decode()}"
    )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@contextmanager
def beside(old: Site, *, ground: Ground, name: str, port: int = 0) -> Iterator[Site]:
    """Processes of the code of `ground` on the database, the store and the broker of another site; nothing runs yet."""
    folder = old.run.folder / name
    folder.mkdir()
    for shared in _SHARED:
        (old.run.folder / shared).mkdir(exist_ok=True)
        (folder / shared).symlink_to(old.run.folder / shared)
    run = replace(old.run, folder=folder, port=port or free_port())
    run.save()
    made = Site(ground=replace(ground, tokens=old.ground.tokens), run=run)
    try:
        yield made
    finally:
        made.stop()


def upgrade(new: Site) -> None:
    """Apply the migrations of the new code."""
    new.ground.zygote.play(role="upgrade", folder=new.run.folder)
    assert (new.run.folder / UPGRADED).exists(), (new.run.folder / "upgrade.log").read_text()


class Visitor:
    """Asks sites for their pages again and again."""

    def __init__(self, *, suite: str) -> None:
        self.sites: list[int] = []
        """Ports of those that are asked."""
        self.failed: list[tuple[int, str, int]] = []
        self.answered: dict[int, int] = {}
        self._paths = [path.format(suite=suite) for path in _PAGES]
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._visit, daemon=True)

    def __enter__(self) -> "Visitor":
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._end.set()
        self._thread.join(timeout=90)

    def leave(self, port: int) -> None:
        """Ask this one no more, as a load balancer does before a pod ends."""
        self.sites = [one for one in self.sites if one != port]
        time.sleep(0.5)

    def _visit(self) -> None:
        with httpx.Client(trust_env=False, timeout=60) as client:
            while not self._end.is_set():
                for port in self.sites:
                    for path in self._paths:
                        self._ask(client, port=port, path=path)
                self._end.wait(0.2)

    def _ask(self, client: httpx.Client, *, port: int, path: str) -> None:
        if port not in self.sites:
            return
        try:
            status = client.get(f"http://127.0.0.1:{port}/{path}").status_code
        except httpx.TransportError:
            status = 0
        if port in self.sites and (not status or status >= 500):
            self.failed.append((port, path, status))
        self.answered[port] = self.answered.get(port, 0) + 1
