"""Known sites: their keys and the newest snapshot of each board, in a small file in the user's folder.

A key is pinned on first use, as SSH does with hosts. The newest snapshot is remembered so that a site cannot go back to
an earlier state, or rewrite its history, without being noticed.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, ValidationError

from evaluator.client.errors import UsageError
from evaluator.core import canonical_json
from evaluator.core.signatures.envelope import PublicKey

KNOWN_SITES_VARIABLE = "PLANARENA_KNOWN_SITES"


class _PinnedSite(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PinnedKey(_PinnedSite):
    """A key that is trusted."""

    public_key: Annotated[str, AfterValidator(lambda text: PublicKey.from_text(text).text)]
    retired: AwareDatetime | None = None


class Head(_PinnedSite):
    """The newest signed snapshot of a suite, or announcement of a season, that was seen."""

    number: int
    statement: str

    @classmethod
    def from_text(cls, text: str) -> "Head":
        """Read what another verification printed, `NUMBER:DIGEST`.

        Raises:
            UsageError: it is something else.
        """
        number, _, digest = text.partition(":")
        if not re.fullmatch(r"[0-9]{1,9}:[0-9a-f]{64}", text):
            raise UsageError(f"{text!r} is no snapshot as NUMBER:DIGEST, which a verification prints as its newest")
        return cls(number=int(number), statement=digest)

    def __str__(self) -> str:
        return f"{self.number}:{self.statement}"


class KnownSite(_PinnedSite):
    """What is known of one site."""

    keys: dict[str, PinnedKey] = {}
    heads: dict[str, Head] = {}
    seasons: dict[str, Head] = {}
    """By season, its last announcement."""


class _File(_PinnedSite):
    version: int = 1
    sites: dict[str, KnownSite] = {}


def known_sites_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where it is: `PLANARENA_KNOWN_SITES`, or `planarena/known-sites.json` in the user's folder for state."""
    if named := environment.get(KNOWN_SITES_VARIABLE, ""):
        return Path(named)
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "planarena" / "known-sites.json"


def read_site(*, file: Path, site: str) -> KnownSite:
    """What is known of a site; empty for one that was never verified.

    Raises:
        UsageError: the file cannot be read. It is never replaced silently: that would trust any key.
    """
    return _read(file).sites.get(site, KnownSite())


def write_site(*, file: Path, site: str, known: KnownSite) -> None:
    """Keep what is known of a site.

    Raises:
        UsageError: the file cannot be written.
    """
    content = _read(file)
    content.sites[site] = known
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        fresh.write_text(content.model_dump_json(indent=1) + "\n", encoding="utf-8")
        fresh.replace(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error}); set {KNOWN_SITES_VARIABLE} to another file") from None


def _read(file: Path) -> _File:
    try:
        return _File.model_validate(canonical_json.loads(file.read_bytes()))
    except FileNotFoundError:
        return _File()
    except (OSError, ValueError, ValidationError):
        raise UsageError(f"{file} is no file of known sites; correct or delete it") from None
