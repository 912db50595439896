"""State with which a command continues after a lost connection or a crash: a small file in the user's folder.

By what is submitted where it keeps the idempotency key, and the submission's id as soon as that is known. The same
command, run again, finds the same submission; an entry goes away when its command came to a verdict.
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
    """Where it is: `PLANARENA_STATE`, or `planarena/submissions.json` in the user's folder for state."""
    if named := environment.get(STATE_VARIABLE, ""):
        return Path(named)
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "planarena" / "submissions.json"


class Remembered:
    """One submission that is under way."""

    def __init__(self, *, file: Path, url: str, new: NewSubmission, key: str = "") -> None:
        """
        Args:
            key: the user's own idempotency key; empty: the remembered one, or a new one.

        Raises:
            UsageError: the file is there and cannot be read.
        """
        self._file = file
        # Without the secret: of a weak one the digest would tell enough to guess it.
        content = new.model_dump(mode="json", exclude={"planner": {"header_value"}})
        request = json.dumps([url.rstrip("/"), content, key], sort_keys=True)
        self._name = hashlib.sha256(request.encode()).hexdigest()
        found = self._read().get(self._name, {})
        self.key = key or str(found.get("key") or f"planarena-{secrets.token_hex(12)}")
        self.submission = str(found.get("submission", ""))

    def keep(self, *, submission: str = "") -> None:
        """Write the key, and the submission if it is known.

        Raises:
            UsageError: the file cannot be written.
        """
        self.submission = submission or self.submission
        self._write({**self._read(), self._name: {"key": self.key, "submission": self.submission}})

    def forget(self) -> None:
        """Let the same command submit again."""
        left = self._read()
        if left.pop(self._name, None) is not None:
            self._write(left)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise UsageError(f"{self._file} cannot be read ({error}); correct or delete it") from None
        if not isinstance(found, dict) or not all(isinstance(entry, dict) for entry in found.values()):
            raise UsageError(f"{self._file} is no state file of planarena; correct or delete it")
        return found

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
