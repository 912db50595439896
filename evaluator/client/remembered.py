"""State that lets `submit` continue after a lost connection or a crash: a small file in the user's folder.

For each submission, by a digest of the request, it has the idempotency key and, once known, the submission's id. The
same command continues with that submission. An entry is deleted when its command reaches a verdict.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.client.errors import UsageError
from evaluator.client.shapes import NewSubmission

STATE_VARIABLE = "PLANARENA_STATE"


def state_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The file: `PLANARENA_STATE`, or `planarena/submissions.json` in the user's folder for state."""
    if named := environment.get(STATE_VARIABLE, ""):
        return Path(named)
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "planarena" / "submissions.json"


class Remembered:
    """The state of one submission."""

    def __init__(self, *, file: Path, url: str, new: NewSubmission, key: str = "") -> None:
        """
        Args:
            key: the user's own idempotency key; empty: the remembered one, or a new one.

        Raises:
            UsageError: the file exists and cannot be read.
        """
        self._file = file
        # Without the secrets, which could be guessed from the digest if they are weak.
        content = new.model_dump(mode="json", exclude={"planner": {"header_value"}})
        for role in (content["planner"].get("roles") or {}).values():
            role.pop("header_value", None)
        request = json.dumps([url.rstrip("/"), content, key], sort_keys=True)
        self._name = hashlib.sha256(request.encode()).hexdigest()
        entry = self._read().get(self._name, {})
        self.key = key or str(entry.get("key") or f"planarena-{secrets.token_hex(12)}")
        self.submission = str(entry.get("submission", ""))

    def keep(self, *, submission: str = "") -> None:
        """Store the key, and the submission if it is known.

        Raises:
            UsageError: the file cannot be written.
        """
        self.submission = submission or self.submission
        self._write({**self._read(), self._name: {"key": self.key, "submission": self.submission}})

    def forget(self) -> None:
        """Delete the state, so that the same command submits again."""
        entries = self._read()
        if entries.pop(self._name, None) is not None:
            self._write(entries)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            entries = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise UsageError(f"{self._file} cannot be read ({error}); correct or delete it") from None
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise UsageError(f"{self._file} is no state file of planarena; correct or delete it")
        return entries

    def _write(self, content: dict[str, dict[str, Any]]) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}")
            fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            fresh.replace(self._file)
        except OSError as error:
            raise UsageError(
                f"{self._file} cannot be written ({error}); set {STATE_VARIABLE} to another file"
            ) from None
