"""Artefacts of an evaluation beside its report: what `planarena view` shows of samples."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.execution.engine.store import LocalStore, ObjectDamagedError, ObjectMissingError

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord
    from evaluator.execution.engine.store import Store


def folder_beside(report: Path) -> Path:
    """The folder of a report's artefacts: `report.json.artefacts`, in the layout of a store."""
    return report.with_name(f"{report.name}.artefacts")


class RememberedStore:
    """Opens a store, and remembers it for `keep_artefacts`."""

    def __init__(self, open_store: "Callable[[], Store] | None") -> None:
        """Args:
        open_store: opens it; None if nothing is stored.
        """
        self._open = open_store
        self.opened: Store | None = None

    def __call__(self) -> "Store":
        """Open it."""
        assert self._open is not None
        self.opened = self._open()
        return self.opened


def keep_artefacts(records: "Iterable[ResultRecord]", *, store: "Store", folder: Path) -> int:
    """Copy the artefacts that records refer to from a store into a folder. Returns the number of those that the store
    has lost.

    Args:
        records: of an evaluation.
        store: has their artefacts.
        folder: created on demand; other artefacts in it stay.
    """
    kept, lost = LocalStore(folder), 0
    digests = dict.fromkeys(reference.digest for record in records for reference in record.artefacts())
    for digest in kept.lacking(list(digests)):
        try:
            kept.put(store.get(digest))
        except (ObjectMissingError, ObjectDamagedError):
            lost += 1
    return lost
