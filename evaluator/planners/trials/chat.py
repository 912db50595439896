"""A test call of a strategy with a chat endpoint: one request of a suite of whole plans."""

from collections.abc import Set
from dataclasses import replace
from time import monotonic

from evaluator.core.language_model import Answer, Call, Completion, Failure
from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite
from evaluator.planners.driving import StrategyPlanner, UnfitModelError
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from evaluator.planners.strategies.registry import PlannerNameError, strategy_of
from evaluator.planners.trials import ChatTrialSettings
from evaluator.planners.trials.trial import (
    SHOWN_BYTES,
    Trial,
    Verdict,
    explained,
    read,
    says_nothing,
    trial_request,
    verdict_of_fault,
)

_OK = 200


class _WatchedModel(ChatModel):
    """Records the endpoint's last answer."""

    last: Answer | Failure | None = None

    async def answer_one(self, call: Call) -> Answer | Failure:
        self.last = await super().answer_one(call)
        return self.last


def try_chat(*, suite: Suite, settings: ChatTrialSettings, offered: Set[str] | None = None) -> Trial:
    """Have a strategy answer one request. Each call of the model is tried once.

    Args:
        suite: supplies the request; a suite of whole plans.
        settings: strategy, model and endpoint.
        offered: names of the tools that a plan may call; None: the suite's whole catalogue.
    """
    task, context, request = trial_request(suite=suite, offered=offered)
    model = _WatchedModel(
        ChatSettings(
            url=settings.url, model=settings.model, allow_private=settings.allow_private, tries=1,
            try_seconds=settings.timeout_seconds, total_seconds=settings.timeout_seconds,
        ),
        name=f"chat:{settings.model}", key=lambda: None, header=settings.header,
    )  # fmt: skip
    started = monotonic()
    end: PlannerReply | PlannerError | None = None
    problem = ""
    try:
        entry = strategy_of(name=f"{settings.strategy}:{model.name}", suite=suite)
        planner = StrategyPlanner(strategy=entry.strategy(with_model=True), model=model)
        try:
            end = planner.plan(request)
        finally:
            planner.close()
    except PlannerError as error:
        end = error
    except (PlannerNameError, UnfitModelError) as error:
        problem = f"{error}."
    status = _OK if isinstance(model.last, Completion) else None
    text = (
        model.last.transcript() if isinstance(model.last, Completion)
        else (model.last.received or "") if isinstance(model.last, Failure) else ""
    )  # fmt: skip
    body = text.encode()
    trial = Trial(
        suite=suite.slug, task=task.key, request=request, seconds=round(monotonic() - started, 3), status=status,
        answer=body[:SHOWN_BYTES].decode(errors="replace"), answer_bytes=len(body),
    )  # fmt: skip
    if end is None:
        return replace(trial, reason=Reason.MODEL_UNUSABLE, problem=problem)
    if isinstance(end, PlannerError):
        return replace(trial, reason=end.reason, verdict=verdict_of_fault(end.reason), problem=str(end))
    if end.unreadable and isinstance(model.last, Completion) and says_nothing(model.last.transcript()):
        trial = replace(trial, reason=Reason.UNPARSABLE_PLAN)
        return explained(trial, context=context, suite=suite, verdict=Verdict.EMPTY)
    if end.unreadable:
        problem = f"The plan cannot be read: {end.unreadable}."
        return replace(trial, reason=Reason.UNPARSABLE_PLAN, verdict=Verdict.UNREADABLE, problem=problem)
    return read(trial, reply=end, context=context, suite=suite)
