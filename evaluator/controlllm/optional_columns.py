"""Columns of ControlLLM's suites that only some planners or installations have a value in."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import Column, IntervalMethod, Measured, Rated, Suite, Task
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.scoring.metrics.judge import PROMPT_VERSION, SYSTEM_PROMPT, case_of, material_of, mean_vote, parse_vote
from evaluator.scoring.rating import cut, with_rated_column

DEACC = Column(
    key="DeAcc",
    label="DeAcc",
    description="Share of requests with the right decomposition, of planners whose strategy decomposes.",
    indicator=True,
    interval=IntervalMethod.WILSON,
    title="Right decomposition",
    is_optional=True,
)
LOWEST, HIGHEST = 1.0, 10.0


def _rated_plan(task: Task, record: ResultRecord) -> Mapping[str, JsonValue] | Measured:
    plan = record.plan if record.plan is not None else record.plan_received
    if plan is None:
        return Measured(value=LOWEST, why="There is no plan to rate, which counts as the lowest rating.")
    case = case_of(request=task.text, tools=CONTROLLLM.tools.values(), plan=plan)
    return material_of(replace(case, plan=cut(case.plan)))


GPT_SCORE = Rated(
    column=Column(
        key="GPT", label="GPT-Score", title="GPT-Score", indicator=True, is_optional=True, low=LOWEST, high=HIGHEST,
        description="Mean rating of the plan by a language model, from 1 to 10.",
    ),
    prompt=PROMPT_VERSION,
    system=SYSTEM_PROMPT,
    temperature=0.7,
    most_tokens=400,
    material=_rated_plan,
    vote_in=parse_vote,
    value_of=mean_vote,
)  # fmt: skip
"""ControlLLM, appendix 2.3, of every suite of whole plans."""


_RESPONSE = partial(
    Column, indicator=True, is_optional=True, interval=IntervalMethod.WILSON,
)  # fmt: skip
RESPONSE_COLUMNS = (
    _RESPONSE(
        key="faithful", label="Faithful", title="Faithful response",
        description="Share of responses whose files, numbers and quotations are all in a result or in the request.",
    ),
    _RESPONSE(
        key="complete", label="Complete", title="Complete response",
        description="Share of responses that give every result by its file or value.",
    ),
    _RESPONSE(
        key="claims_only_what_ran", label="Claims what ran", title="Response that claims only what ran",
        description="Share of responses that name or describe no tool as used that did not run.",
    ),
)  # fmt: skip
"""Of planners that answer in sentences once their plan has run (`response_columns`)."""


def with_responses(build: Callable[[], Suite]) -> Callable[[], Suite]:
    """The builder of an executed suite with the optional columns and those of responses."""
    return partial(_with_responses, build)


def _with_responses(build: Callable[[], Suite]) -> Suite:
    suite = _with_columns(build)
    return replace(suite, metrics=(*suite.metrics, *RESPONSE_COLUMNS))


def with_optional_columns(build: Callable[[], Suite]) -> Callable[[], Suite]:
    """The builder of a suite with the optional columns."""
    return partial(_with_columns, build)


def _with_columns(build: Callable[[], Suite]) -> Suite:
    suite = build()
    return with_rated_column(replace(suite, metrics=(*suite.metrics, DEACC), measures=measures), rated=GPT_SCORE)


def measures(task: Task, record: ResultRecord) -> Mapping[str, Measured]:
    """See `Suite.measures`."""
    # Imported here to keep the registry cheap: these load numpy.
    from evaluator.controlllm.noted_decomposition import decomposition_in
    from evaluator.scoring.metrics.decomposition import judge_decomposition, right_fields

    assert isinstance(task, ToolTask)
    written = decomposition_in(record.planner_notes)
    if task.decomposition is None or written is None:
        return {}
    # The sentences about differences quote the gold, which hidden requests do not tell.
    right = judge_decomposition(predicted=written, gold=task.decomposition).right
    wrong = [
        name for name, is_right in right_fields(predicted=written, gold=task.decomposition).items() if not is_right
    ]
    why = "Every field of every subtask is right." if right else f"Wrong in some subtask: {', '.join(wrong)}."
    return {DEACC.key: Measured(value=float(right), why=why)}
