"""A test call of an endpoint in a separate process, since reading an untrusted answer may cost any time and memory."""

from collections.abc import Set
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import suite_of
from evaluator.network.secret_header import SecretHeader
from evaluator.planners.endpoint import EndpointSettings
from evaluator.planners.trials import ChatTrialSettings
from evaluator.planners.trials.trial import Trial, stopped_trial, try_endpoint
from evaluator.sandbox.limited_process import Exceeded, LimitExceededError, Limits, call, serve

MEMORY_BYTES = 512 * 1024**2
CPU_SECONDS = 10
GRACE_SECONDS = 10.0
"""Time to start and to read the answer on a busy machine."""
_TRIAL = TypeAdapter(Trial)


TrialSettings = EndpointSettings | ChatTrialSettings


def try_confined(
    *, suite: Suite, settings: TrialSettings, offered: Set[str] | None = None, memory_bytes: int = MEMORY_BYTES
) -> Trial:
    """`trial.try_endpoint` or `chat.try_chat` with limits on memory and time. The trial reports an exceeded limit.

    Args:
        suite: one of the registry.
        memory_bytes: limit of the address space, of which the process itself needs 60 MB.
    """
    limits = Limits(
        memory_bytes=memory_bytes,
        cpu_seconds=CPU_SECONDS,
        wall_seconds=settings.timeout_seconds + GRACE_SECONDS,
        sockets=True,
    )
    request: Any = {
        "suite": suite.slug,
        "offered": None if offered is None else sorted(offered),
        # Sent through the pipe, so that neither arguments nor environment contain the secret header.
        "settings": settings_to_json(settings),
    }
    try:
        return trial_from_json(call(__name__, request, limits=limits))
    except LimitExceededError as error:
        used = "time" if error.what is Exceeded.TIME else f"memory: more than {memory_bytes // 1024**2} MiB"
        return stopped_trial(
            suite=suite,
            offered=offered,
            reason=Reason.INVALID_RESPONSE,
            problem=f"The test was stopped: reading the endpoint's answer took too much {used}.",
        )


def settings_to_json(settings: TrialSettings) -> dict[str, Any]:
    """The settings as JSON, with the secret header in clear."""
    return {**asdict(settings), "is_chat": isinstance(settings, ChatTrialSettings)}


def settings_from_json(value: dict[str, Any]) -> TrialSettings:
    """The inverse of `settings_to_json`."""
    fields = {name: part for name, part in value.items() if name not in {"is_chat", "header"}}
    header = SecretHeader(**value["header"]) if value["header"] else None
    return (ChatTrialSettings if value["is_chat"] else EndpointSettings)(**fields, header=header)


def trial_to_json(trial: Trial) -> Any:
    return _TRIAL.dump_python(trial, mode="json")


def trial_from_json(value: Any) -> Trial:
    """The inverse of `trial_to_json`."""
    return _TRIAL.validate_python(value)


def _answer(request: Any) -> Any:
    settings = settings_from_json(request["settings"])
    offered = None if request["offered"] is None else frozenset(request["offered"])
    suite = suite_of(request["suite"])
    if isinstance(settings, ChatTrialSettings):
        # Imported here because a test of an endpoint does not need what it loads.
        from evaluator.planners.trials.chat import try_chat

        return trial_to_json(try_chat(suite=suite, settings=settings, offered=offered))
    return trial_to_json(try_endpoint(suite=suite, settings=settings, offered=offered))


if __name__ == "__main__":
    serve(_answer)
