"""Response scores as optional columns of executed suites: what a planner says about the results of its plan.

ControlLLM's strategies answer in sentences, and endpoints that want to: once its plan has run, a planner gets the
results of the first sample in words, as in the paper's chain. Plans that did not run have no response. A response that
was promised and is not given counts as 0, so that answering only where the plan is right earns nothing.
"""

from collections.abc import Mapping

from evaluator.controlllm.chain.response_scores import CLAIMS, COMPLETE, FAITHFUL, ResponseFacts, score_response
from evaluator.controlllm.chain.state import entry_of
from evaluator.controlllm.strategies.binding import Action
from evaluator.core.planner import PlannerError, PlannerRequest, RanPlan
from evaluator.core.plans.model import Plan
from evaluator.core.records import PlannerCall, ResultRecord
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.core.transcripts import sum_by_role, sum_of_known
from evaluator.episodes.parts import Planned
from evaluator.episodes.responding import Responding
from evaluator.execution.engine.jobs import JobResult
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import ending_of

MOST_CHARACTERS = 4000
"""Of a response; the rest is cut before it is scored."""


def responses(
    record: ResultRecord,
    *,
    planner: Responding,
    item: Planned,
    request: PlannerRequest,
    result: JobResult,
    engine: Engine,
) -> ResultRecord:
    """See `Responses`."""
    plan = item.plan.plan
    answers = _answers(plan=plan, result=result, engine=engine)
    ran = RanPlan(request=request, calls=_calls(plan), results=answers)
    end = planner.respond(ran)
    record = record.model_copy(update={"planner": _together(record.planner, end.call)})
    if isinstance(end, PlannerError):
        return _scored(record, dict.fromkeys(KEYS, (False, f"There is no response: {end}")))
    said = str(end.plan)[:MOST_CHARACTERS]
    values = [
        entry_of(reference="", kind=ResourceType.TEXT, artefact=own, value=engine.value(own)).in_words()
        for step in result.steps
        for own in step.outputs.values()
    ]
    facts = ResponseFacts(
        request=request.task.request,
        files=tuple(request.task.resources),
        results=answers,
        ran={step.tool for step in result.steps if step.error is None},
        undone=(),
        further=[*values, *(value for step in plan.steps for value in step.inputs.values())],
    )
    scores = score_response(said, facts=facts)
    wrong = {FAITHFUL: scores.unfaithful, COMPLETE: scores.incomplete, CLAIMS: scores.claimed}
    judged = {
        key: (not why, f"{'; '.join(why)}." if why else "Nothing is wrong with it.") for key, why in wrong.items()
    }
    return _scored(record.model_copy(update={"planner_notes": {**record.planner_notes, "response": said}}), judged)


KEYS = (FAITHFUL, COMPLETE, CLAIMS)


def _scored(record: ResultRecord, judged: Mapping[str, tuple[bool, str]]) -> ResultRecord:
    """The record with these scores and their reasons."""
    values = {key: float(is_right) for key, (is_right, _) in judged.items()}
    whys = {key: why for key, (_, why) in judged.items()}
    return record.model_copy(
        update={
            "indicators": {**record.indicators, **values},
            "explanations": {**record.explanations, **whys},
        }
    )


def _calls(plan: Plan) -> tuple[str, ...]:
    actions = [Action(tool=CONTROLLLM[step.tool], inputs=step.inputs, outputs=step.outputs) for step in plan.steps]
    return tuple(action.call() for action in actions)


def _answers(*, plan: Plan, result: JobResult, engine: Engine) -> dict[str, str]:
    """Each answer in words, by the name of its file: `result-1.png`, ..."""
    entries = [
        entry_of(reference=name, kind=ResourceType.TEXT, artefact=own, value=engine.value(own))
        for name, own in zip(plan.answers, result.answers, strict=True)
    ]
    return {
        f"result-{number}{ending_of(entry.artefact.media_type)}": entry.in_words()
        for number, entry in enumerate(entries, start=1)
    }


def _together(first: PlannerCall | None, second: PlannerCall) -> PlannerCall:
    """What plan and response took together. A response that failed counts too."""
    if first is None:
        return second
    counts = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    return first.model_copy(
        update={
            "seconds": round(first.seconds + second.seconds, 6),
            "tries": max(first.tries, second.tries),
            **{name: sum_of_known((getattr(first, name), getattr(second, name))) for name in counts},
            "roles": sum_by_role((first.roles, second.roles)),
        }
    )
