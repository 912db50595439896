"""Opening an arbiter by its name. Loaded when an evaluation begins: torch or a network client follows."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from evaluator.scoring.arbiters.keeping import KeepingArbiter
from evaluator.scoring.arbiters.naming import ArbiterName
from evaluator.scoring.arbiters.protocol import Arbiter

if TYPE_CHECKING:
    from evaluator.execution.engine.store import Store


def opened(
    name: ArbiterName, *, api_key: str = "", device: str = "cpu", open_store: "Callable[[], Store] | None" = None
) -> Arbiter:
    """The arbiter with this name. Its model is loaded, and its endpoint asked, only when there is a pair to settle.

    Args:
        name: of the arbiter.
        api_key: of a chat endpoint.
        device: torch device of a cross-encoder.
        open_store: opens what verdicts are kept in; None: they are kept in memory.

    Raises:
        ArbiterError: a folder has no weights.
    """
    if name.kind == "chat":
        from evaluator.scoring.arbiters.chat import ChatArbiter

        return KeepingArbiter(arbiter=ChatArbiter(name=name, api_key=api_key), open_store=open_store)
    from evaluator.scoring.arbiters.cross_encoder import CrossEncoder

    return KeepingArbiter(arbiter=CrossEncoder(name=name, device=device), open_store=open_store)
