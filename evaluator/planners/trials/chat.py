"""A test call of a strategy with a model behind a chat endpoint: one request of a suite that wants whole plans."""

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
from evaluator.planners.trials.empty_plans import says_nothing
from evaluator.planners.trials.settings import ChatTrialSettings
from evaluator.planners.trials.trial import SHOWN_BYTES, Trial, asked, explained, read
from evaluator.planners.trials.verdicts import Verdict, verdict_of_fault

_OK = 200


class _WatchedModel(ChatModel):
    """Keeps what the endpoint said last."""

    heard: Answer | Failure | None = None

    async def answer_one(self, call: Call) -> Answer | Failure:
        self.heard = await super().answer_one(call)
        return self.heard


def try_chat(*, suite: Suite, settings: ChatTrialSettings, offered: Set[str] | None = None) -> Trial:
    """Have a strategy answer one request with the model, each of whose calls is tried once.

    Args:
        suite: whose request is sent; it wants whole plans.
        settings: strategy, model and endpoint.
        offered: names of the tools that a plan may call; None: all of the suite's catalogue.
    """
    task, context, request = asked(suite=suite, offered=offered)
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
    trial = Trial(suite=suite.slug, task=task.key, request=request, seconds=round(monotonic() - started, 3))
    trial = _with_answer(trial, heard=model.heard)
    if end is None:
        return replace(trial, reason=Reason.MODEL_UNUSABLE, problem=problem)
    if isinstance(end, PlannerError):
        return replace(trial, reason=end.reason, verdict=verdict_of_fault(end.reason), problem=str(end))
    if end.unreadable and isinstance(model.heard, Completion) and says_nothing(model.heard.text):
        trial = replace(trial, reason=Reason.UNPARSABLE_PLAN)
        return explained(trial, context=context, suite=suite, verdict=Verdict.EMPTY)
    if end.unreadable:
        problem = f"The plan cannot be read: {end.unreadable}."
        return replace(trial, reason=Reason.UNPARSABLE_PLAN, verdict=Verdict.UNREADABLE, problem=problem)
    return read(trial, reply=end, context=context, suite=suite)


def _with_answer(trial: Trial, *, heard: Answer | Failure | None) -> Trial:
    if isinstance(heard, Completion):
        status, text = _OK, heard.text
    else:
        status, text = None, (heard.received or "" if isinstance(heard, Failure) else "")
    body = text.encode()
    shown = body[:SHOWN_BYTES].decode(errors="replace")
    return replace(trial, status=status, answer=shown, answer_bytes=len(body))
