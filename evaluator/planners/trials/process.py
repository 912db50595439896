"""A test call of an endpoint in a process of its own: what it answers is foreign, and so is the cost of reading it."""

from collections.abc import Set
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from evaluator.limited_process import Exceeded, LimitExceededError, Limits, call, serve
from evaluator.planners.endpoint import EndpointSettings
from evaluator.planners.secret_header import SecretHeader
from evaluator.planners.trials.settings import ChatTrialSettings
from evaluator.planners.trials.trial import Trial, stopped_trial, try_endpoint
from evaluator.records import Reason
from evaluator.suites.base import Suite
from evaluator.suites.registry import suite_of

MEMORY_BYTES = 512 * 1024**2
CPU_SECONDS = 10
_GRACE_SECONDS = 10.0
"""To start, and to read the answer, on a busy machine."""
_TRIAL = TypeAdapter(Trial)


TrialSettings = EndpointSettings | ChatTrialSettings


def try_confined(
    *, suite: Suite, settings: TrialSettings, offered: Set[str] | None = None, memory_bytes: int = MEMORY_BYTES
) -> Trial:
    """As `trial.try_endpoint` or `chat.try_chat`, with limits on memory and time: an answer that takes more is what
    there is to show.

    Args:
        suite: one of the registry's.
        memory_bytes: of address space, of which the process itself needs 60 MB.
    """
    limits = Limits(
        memory_bytes=memory_bytes, cpu_seconds=CPU_SECONDS, wall_seconds=settings.timeout_seconds + _GRACE_SECONDS
    )
    request: Any = {
        "suite": suite.slug,
        "offered": None if offered is None else sorted(offered),
        "is_chat": isinstance(settings, ChatTrialSettings),
        # Through the pipe: neither arguments nor environment hold the secret header.
        "settings": asdict(settings),
    }
    try:
        return _TRIAL.validate_python(call(__name__, request, limits=limits))
    except LimitExceededError as error:
        used = "time" if error.what is Exceeded.TIME else f"memory: more than {memory_bytes // 1024**2} MiB"
        return stopped_trial(
            suite=suite,
            offered=offered,
            reason=Reason.INVALID_RESPONSE,
            problem=f"The test was stopped: reading the endpoint's answer took too much {used}.",
        )


def _answer(request: Any) -> Any:
    header = request["settings"].pop("header")
    given = {**request["settings"], "header": SecretHeader(**header) if header else None}
    offered = None if request["offered"] is None else frozenset(request["offered"])
    suite = suite_of(request["suite"])
    if request["is_chat"]:
        # Only now: it loads what a test of an endpoint does not need.
        from evaluator.planners.trials.chat import try_chat

        found = try_chat(suite=suite, settings=ChatTrialSettings(**given), offered=offered)
    else:
        found = try_endpoint(suite=suite, settings=EndpointSettings(**given), offered=offered)
    return _TRIAL.dump_python(found, mode="json")


if __name__ == "__main__":
    serve(_answer)
