"""Who sees gold plans, everything that reveals them, and results of single tasks on hidden data. Pages, API, records,
comparisons and files use these rules.

Gold plans of a hidden split are for operators only, because they would invalidate the scores of planners trained on
them. A suite has the same gold plans on each split, so they are withheld on the public split, too, while the site
evaluates the hidden one.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.http import HttpResponseBase
from django.utils.cache import patch_cache_control

from evaluator.core.suites.base import Panel
from evaluator.core.suites.hidden import HIDDEN
from evaluator.planners.bundled import KNOW_GOLD
from leaderboard.catalog.hidden_data import TasksWithheldError, are_public, public_data, when_public
from leaderboard.catalog.library import split_of
from leaderboard.catalog.models import RELATED_CONDITIONS, MeasuringConditions, Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.visibility import Reader, public_now
from leaderboard.planners.models import Planner
from leaderboard.platform.operators import is_operator

RELATED = ("suite", RELATED_CONDITIONS, "submission__planner")
"""Relations of an evaluation that these rules read, for `select_related`."""
_NOT_SHOWN: Mapping[str, Mapping[str, Any]] = {
    "data": {
        "samples": [], "request": "", "planner_notes": {}, "plan_received": None, "pairs": [],
        "transcripts": [],
    },
    "gold": {"explanations": {}, "pairs": [], "transcripts": []},
    "tasks": {
        "outcome": "not_run", "score": None, "samples": [], "indicators": {}, "explanations": {}, "plan": None,
        "plan_received": None, "transcripts": [],
    },
    "plan": {
        "plan": None, "plan_received": None, "planner_notes": {}, "tolerated": [], "problems": [], "samples": [],
        "reason_text": "", "pairs": [], "transcripts": [],
    },
}  # fmt: skip
"""The fields of a record that reveal each withheld part, with their empty values."""


class Withheld(NamedTuple):
    """The parts of an evaluation that a reader may not see."""

    data: bool = False
    """Inputs, references and answers of samples, the text of the request, and everything that quotes them: messages to
    the planner, and its responses except the plan."""
    gold: bool = False
    """Gold plans, goals, the reasons of the judge, and differences from a gold plan."""
    plan: bool = False
    """The plans of this evaluation, because they reveal gold plans or the contents or answers of hidden requests."""
    tasks: bool = False
    """Outcomes and scores of single tasks, because repeated submissions could learn the right answers from them.
    Means over all tasks of a completed evaluation are shown."""

    def without(self) -> dict[str, Any]:
        """The fields of a record to be replaced, with their empty values."""
        fields: dict[str, Any] = {}
        for name, is_withheld in self._asdict().items():
            fields |= _NOT_SHOWN[name] if is_withheld else {}
        return fields


def sees_gold(*, reader: Reader | None, suite: Suite, split: str = "") -> bool:
    """Whether a reader may see the gold plans of a suite.

    Args:
        reader: None for content that is cached for all readers.
        split: of the evaluation, if the gold plans are shown with one.
    """
    if HIDDEN not in {split, split_of(suite)}:
        return True
    return reader is not None and is_operator(reader)


def withheld_from(*, reader: Reader | None, evaluation: Evaluation) -> Withheld:
    """The parts of an evaluation that this reader may not see."""
    if sees_gold(reader=reader, suite=evaluation.suite, split=evaluation.split):
        return Withheld()
    hidden = evaluation.split == HIDDEN
    tasks = withholds_tasks(reader=reader, of=evaluation)
    names_things = hidden and (evaluation.suite.has(Panel.GOAL) or evaluation.suite.has(Panel.GRIDS))
    plan = names_things or answers_with_gold(evaluation.submission.planner)
    return Withheld(data=hidden, gold=True, plan=plan, tasks=tasks)


def withholds_tasks(*, reader: Reader | None, of: MeasuringConditions) -> bool:
    """Whether results of single tasks are withheld from a reader: on a hidden split until its data are public, except
    for operators. Every view of a single task calls this or `check_tasks`.

    Args:
        reader: None for content that is cached for all readers.
        of: the evaluation, or the snapshot of a board.
    """
    if of.split != HIDDEN or are_public(of):
        return False
    return reader is None or not is_operator(reader)


def check_tasks(*, reader: Reader | None, of: MeasuringConditions) -> None:
    """Refuse access to single tasks.

    Raises:
        TasksWithheldError: they are withheld from this reader.
    """
    if withholds_tasks(reader=reader, of=of):
        raise TasksWithheldError(when_public(of))


def shows_parts(*, reader: Reader | None, of: Evaluation) -> bool:
    """Whether a reader sees means, causes and groups of an evaluation besides those of its summary. Until it completes,
    they reveal single tasks, because they cover few tasks or change with each task."""
    return of.state == EvaluationState.COMPLETED or not withholds_tasks(reader=reader, of=of)


def records_are_open(evaluation: Evaluation) -> bool:
    """Whether everybody may read the records of a hidden evaluation, because its data are public. Gold plans are the
    same in later hidden data and stay withheld."""
    return are_public(evaluation) and not answers_with_gold(evaluation.submission.planner)


def is_open_record(digest: str) -> bool:
    """Whether an object of the hidden store is the record of a public evaluation whose records are open."""
    public = public_now(prefix="evaluation__submission__") & public_data("evaluation__")
    results = TaskResult.objects.filter(public, record_digest=digest)
    results = results.select_related(f"evaluation__{RELATED_CONDITIONS}", "evaluation__submission__planner")
    return any(records_are_open(result.evaluation) for result in results)


def answers_with_gold(planner: Planner) -> bool:
    """Whether a planner's plans reveal the gold plans."""
    return planner.bundled_name in KNOW_GOLD


def open_attributes(attributes: Mapping[str, Any], *, suite: Suite) -> dict[str, Any]:
    """The attributes of a task whose facets reveal nothing about its gold plan."""
    known = {facet.attribute for facet in suite.facets.filters if not facet.tells_gold}
    return {name: value for name, value in attributes.items() if name in known}


def is_gold_record(digest: str) -> bool:
    """Whether an object of the public store is the record of a withheld gold plan."""
    evaluations = Evaluation.runs.filter(
        results__record_digest=digest, submission__planner__bundled_name__in=KNOW_GOLD
    ).select_related("suite")
    return any(
        not sees_gold(reader=None, suite=evaluation.suite, split=evaluation.split)
        for evaluation in evaluations.iterator()
    )


def not_shared(response: HttpResponseBase, *, suite: Suite, split: str = "") -> None:
    """Prevent caching of a response that differs for operators."""
    if not sees_gold(reader=None, suite=suite, split=split):
        patch_cache_control(response, private=True, no_store=True)
