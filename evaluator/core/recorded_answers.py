"""Planners that repeat what another one answered, so that stored answers are scored again and nobody is asked.

Answers of an episode in turns are repeated only as long as their planner would get the results that it acted on.
"""

import re
from collections.abc import Mapping

from pydantic import ValidationError

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import Outcome, PlannerCall, Reason, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.core.transcripts import ActionRun, StopReason, Transcript, TurnRun
from evaluator.core.turns import ActionResult, Formulation, TurnReply, TurnRequest, TurnResponse

_NO_TIME = PlannerCall(seconds=0.0)
_OF_PLANS = frozenset(
    {
        Reason.UNPARSABLE_PLAN,
        Reason.INVALID_PLAN,
        Reason.ABSTAINED,
        Reason.LIMIT_EXCEEDED,
        Reason.UNFIT_INPUT,
    }
)
"""Reasons of tasks whose planner answered: parsers, experts and scorers of today may decide otherwise."""
AFTER_PLANS = frozenset({Reason.EXPERT_FAILED, Reason.SCORER_FAILED})
"""Faults of the infrastructure with a plan: today's experts and scorers may not fail on it."""
_NO_RECORD = "There is no record of this task."
_CANNOT_BE_READ = "The plan cannot be read: "


def answer_in(record: ResultRecord) -> ResultRecord:
    """The part of a record that the planner is responsible for: what it answered, or why it did not, and the call."""
    return ResultRecord(
        suite=record.suite,
        task=record.task,
        request=record.request,
        metric=record.metric,
        outcome=record.outcome,
        reason=record.reason,
        reason_text=record.reason_text,
        planner_notes=record.planner_notes,
        plan_received=record.plan_received,
        planner=record.planner,
        transcripts=[_without_scores(transcript) for transcript in record.transcripts],
    )


def has_answer(record: ResultRecord) -> bool:
    """Whether there is anything of a planner that could be scored again, or a fault of the planner itself."""
    if record.outcome is Outcome.NOT_RUN:
        return False
    is_unscored = record.outcome in {Outcome.INFRA_FAULT, Outcome.CANCELLED}
    return not is_unscored or record.plan_received is not None or bool(record.transcripts)


def _without_scores(transcript: Transcript) -> Transcript:
    return transcript.model_copy(update={"expected": None, "score": None, "indicators": {}})


class RecordedAnswers:
    """Answers each request as its record says, in the time and with the tokens of the first call."""

    name = "recorded answers"

    def __init__(self, records: Mapping[str, ResultRecord], *, suite: Suite) -> None:
        """
        Args:
            records: by key of the task.
            suite: as planners see it.
        """
        self._records = {task.asked_as or task.key: records[task.key] for task in suite.asked(list(records))}

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The recorded answer.

        Raises:
            PlannerError: the planner gave none, for the recorded reason; or there is no record.
        """
        record = self._records.get(request.task.id)
        if record is None:
            raise PlannerError(reason=Reason.NOT_IN_RUN, message=_NO_RECORD, call=_NO_TIME)
        call = record.planner or _NO_TIME
        if record.reason is not None and not _has_plan(record):
            received = record.plan_received if isinstance(record.plan_received, str) else None
            raise PlannerError(reason=record.reason, message=record.reason_text, call=call, received=received)
        return PlannerReply(
            plan=record.plan_received,
            call=call,
            notes=record.planner_notes,
            unreadable=_unreadable(record),
        )


def _has_plan(record: ResultRecord) -> bool:
    """Whether a task without a score has a plan, or what a parser was given for one."""
    return record.reason in _OF_PLANS or (record.reason in AFTER_PLANS and record.plan_received is not None)


def _unreadable(record: ResultRecord) -> str:
    """Why the planner's own strategy could not read its model; empty if the parsers of plans are to try."""
    if record.reason is not Reason.UNPARSABLE_PLAN or not record.planner_notes:
        return ""
    return record.reason_text.removeprefix(_CANNOT_BE_READ).removesuffix(".")


_ACTED_OTHERWISE = "Its planner acted on other results of its tools than today's, and might act otherwise on these."
_TOO_LONG = "Its planner's answers are not stored whole."
_CUT = re.compile(r"(?: \[cut: \d{1,9} of \d{1,9} characters\]|…)\Z")
"""The end of a shortened text: as planners get it, or as records have it."""


class RecordedTurns(RecordedAnswers):
    """Acts in each episode as its transcript says, in the time and with the tokens of the first run.

    Tasks of which this is impossible have the reason `not_in_run`: a tool gave the planner another result, an answer
    was too long for the record, or the run had no episode of a sample.
    """

    def __init__(self, records: Mapping[str, ResultRecord], *, suite: Suite) -> None:
        """As of `RecordedAnswers`."""
        super().__init__(records, suite=suite)
        self.formulation = next(
            (_formulation(one) for record in records.values() for one in record.transcripts if one.turns),
            Formulation.INTEGRATED,
        )

    def turn(self, request: TurnRequest) -> TurnReply:
        """The recorded answer to a turn.

        Raises:
            PlannerError: the planner gave none, or the recorded one does not fit.
        """
        record = self._records.get(request.task.id)
        if record is None:
            raise PlannerError(reason=Reason.NOT_IN_RUN, message=_NO_RECORD, call=_NO_TIME)
        sample = int(request.key.rsplit("/", 3)[1])
        transcript = next((one for one in record.transcripts if one.sample == sample), None)
        if transcript is None:
            raise _without_episode(record, sample=sample)
        past = request.past
        if any(not _is_same(turn, shown=shown.results) for turn, shown in zip(transcript.turns, past, strict=False)):
            raise PlannerError(reason=Reason.NOT_IN_RUN, message=_ACTED_OTHERWISE, call=_NO_TIME)
        turn = transcript.turns[len(past)] if len(past) < len(transcript.turns) else None
        # The second answer of a turn is the one of the grounding module.
        place = 1 if request.role == "ground" else 0
        if turn is None or place >= len(turn.received):
            raise _ended(record, transcript=transcript)
        received = turn.received[place]
        try:
            response = TurnResponse.model_validate_json(received)
        except ValidationError:
            if transcript.stop is StopReason.CALL_FAILED:
                raise _ended(record, transcript=transcript, received=received) from None
            raise PlannerError(reason=Reason.NOT_IN_RUN, message=_TOO_LONG, call=_NO_TIME) from None
        notes = record.planner_notes if response.plan is not None else {}
        return TurnReply(response=response, call=_NO_TIME if place else _call_of(turn), notes=notes)


def _formulation(transcript: Transcript) -> Formulation:
    """How the planner began an episode; its first answer may have changed it."""
    try:
        changed = TurnResponse.model_validate_json(transcript.turns[0].received[0]).formulation is not None
    except (ValidationError, IndexError):
        changed = False
    return Formulation.INTEGRATED if changed else Formulation(transcript.formulation)


def _without_episode(record: ResultRecord, *, sample: int) -> PlannerError:
    """Why the run has no episode of a sample."""
    if record.reason is not None and not record.transcripts:
        return PlannerError(reason=record.reason, message=record.reason_text, call=_NO_TIME)
    played = ", ".join(str(one.sample) for one in record.transcripts) or "none"
    message = f"The run has no episode of sample {sample} of this task; its samples: {played}."
    return PlannerError(reason=Reason.NOT_IN_RUN, message=message, call=_NO_TIME)


def _ended(record: ResultRecord, *, transcript: Transcript, received: str | None = None) -> PlannerError:
    """Why there is no further answer in an episode."""
    if transcript.stop is not StopReason.CALL_FAILED:
        return PlannerError(reason=Reason.NOT_IN_RUN, message=_ACTED_OTHERWISE, call=_NO_TIME)
    # A record has one reason for all its episodes, and none if another one has a score.
    reason = record.reason or Reason.INVALID_RESPONSE
    message = record.reason_text or "The planner gave no answer."
    return PlannerError(reason=reason, message=message, call=_NO_TIME, received=received)


def _call_of(turn: TurnRun) -> PlannerCall:
    return PlannerCall(
        seconds=turn.seconds, tries=turn.tries, prompt_tokens=turn.prompt_tokens,
        completion_tokens=turn.completion_tokens, cached_tokens=turn.cached_tokens,
        reasoning_tokens=turn.reasoning_tokens, roles=turn.roles,
    )  # fmt: skip


def _is_same(turn: TurnRun, *, shown: list[ActionResult]) -> bool:
    """Whether the actions of a turn have the recorded results, as far as both texts go."""
    return len(turn.actions) == len(shown) and all(map(_has_result, turn.actions, shown))


def _has_result(action: ActionRun, shown: ActionResult) -> bool:
    if action.outputs.keys() != shown.outputs.keys():
        return False
    pairs = [(action.error, shown.error), *((text, shown.outputs[name]) for name, text in action.outputs.items())]
    return all(_agree(*pair) for pair in pairs)


def _agree(one: str, other: str) -> bool:
    """Whether two texts are equal, or one of them was shortened and the other one begins like it."""
    first, second = _CUT.sub("", one), _CUT.sub("", other)
    is_start = first != one and second.startswith(first)
    return one == other or is_start or (second != other and first.startswith(second))
