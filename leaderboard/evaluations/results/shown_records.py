"""Stored records as a reader may have them."""

import json
from typing import Any

from evaluator.core import canonical_json
from evaluator.execution.engine.store import Store
from leaderboard.evaluations.gold import Withheld


def shown_record(*, digest: str, store: Store, withheld: Withheld) -> bytes:
    """A record as JSON: the stored bytes, or without what is withheld.

    Raises:
        ObjectMissingError: the store has lost it.
        ObjectDamagedError: the same.
    """
    data = store.get(digest).data
    fields = withheld.without()
    if not fields:
        return data
    record: dict[str, Any] = json.loads(data)
    return canonical_json.dumps({**record, **fields}).encode()
