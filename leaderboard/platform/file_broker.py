"""kombu's filesystem transport with atomic writes of messages and tables.

kombu 5.7 opens a file at its final path and then writes it. A reader in between, or after the writer was killed, gets
an empty file: Celery's worker exits with a JSON error (https://github.com/celery/kombu/issues/1551), and an exchange
whose table is empty can never deliver messages again.
"""

import fcntl
import json
import os
import uuid
from pathlib import Path
from time import monotonic
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.transport.filesystem import exchange_queue_t
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """Writes to a temporary file and renames it."""

    def get_table(self, exchange: str) -> list[Any]:
        """The queues of an exchange; empty if the table is damaged."""
        try:
            return list(super().get_table(exchange))
        except ValueError:
            # Damaged: the next binding replaces it.
            return []

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str | None, queue: str) -> None:
        path: Path = self._exchange_file(exchange)  # type: ignore[attr-defined]  # missing in the stubs
        bound = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        try:
            path.parent.mkdir(exist_ok=True)
            with path.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                table = self.get_table(exchange)
                if bound not in table:
                    _write(path=path, text=json.dumps([bound, *table]))
        except OSError as error:
            raise ChannelError(f"Cannot write {path}") from error

    def _put(self, queue: str, payload: dict[str, Any], **_: Any) -> None:  # type: ignore[override]  # the same as in kombu
        # Names sort by time, as those of kombu.
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        path = Path(self.data_folder_out) / name
        try:
            _write(path=path, text=dumps(payload))
        except OSError as error:
            raise ChannelError(f"Cannot write {path}") from error

    def _get(self, queue: str) -> dict[str, Any]:  # type: ignore[override]  # the same as in kombu
        while True:
            try:
                return super()._get(queue)
            except ValueError:
                # A damaged message is dropped; the sweep does its work.
                continue


class Transport(filesystem.Transport):
    """The transport behind `filesystem://`."""

    Channel = Channel


def _write(*, path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_text(text)
    draft.replace(path)
