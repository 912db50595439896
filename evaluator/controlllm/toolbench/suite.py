"""The suites `tool100`, `tool2k` and `toolmini`, whose plans are judged and not executed."""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.controlllm.toolbench.indicators import COLUMNS as MEASURES
from evaluator.controlllm.toolbench.mini.hidden import hidden_tasks
from evaluator.controlllm.toolbench.mini.requests import PARAPHRASES, drawn_tasks, toolmini_tasks
from evaluator.controlllm.toolbench.released.defects import RULES
from evaluator.controlllm.toolbench.released.files import TOOL2K, TOOL100, RawTask, read_tool2k, read_tool100
from evaluator.controlllm.toolbench.released.source import fetched_folder, gold_file, problem_of_fetched
from evaluator.controlllm.toolbench.right_plans import nearest_plans
from evaluator.controlllm.toolbench.tasks import ToolTask, tool_task, with_outage
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Column, Conditions, Defect, IntervalMethod, Panel, StepProblem, Suite, Task
from evaluator.core.suites.facets import MODALITY, STRUCTURE, Facet, Facets
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.secrets import derived
from evaluator.core.tools.catalogues import CONTROLLLM

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord
    from evaluator.core.suites.base import RightPlans

VERSION = "2"

_share = partial(Column, indicator=True, interval=IntervalMethod.WILSON)
_unordered = partial(_share, ordered=False)

DECIDED_BY = {"network": "decided_by_network", "arbiter": "decided_by_arbiter"}
DECIDERS = (
    _unordered(
        key=DECIDED_BY["network"],
        label="Decided by the network",
        description="Share of requests that the rules leave undecided and the shipped network decides.",
    ),
    _unordered(
        key=DECIDED_BY["arbiter"],
        label="Decided by the arbiter",
        description="Share of requests that rules and network leave undecided and the operator's arbiter decides.",
    ),
)
"""Whatever the verdict. A request with several texts is decided by the last one that was needed."""
COLUMNS = (
    _share(
        key="SE",
        label="SE",
        description="Solution evaluation: share of requests that the plan solves.",
        primary=True,
        title="Solution",
        good="solves the request",
        bad="does not solve it",
        undecided="undecided",
        by_rules=("SE_low", "SE_high"),
        decided_by=DECIDED_BY,
    ),
    _unordered(
        key="undecided",
        label="Undecided",
        description="Share of requests for which it is not known whether the plan solves them; they count 0 in SE.",
    ),
    _unordered(
        key="SE_low", label="SE, lower end", description="SE by the rules alone, undecided requests counting 0."
    ),
    _unordered(
        key="SE_high", label="SE, upper end", description="SE by the rules alone, undecided requests counting 1."
    ),
    *DECIDERS,
    _share(
        key="IR",
        label="IR",
        description="Share of plans that call an irrelevant tool.",
        higher_is_better=False,
        fault=1.0,
        title="Irrelevant tools",
        good="none irrelevant",
        bad="irrelevant tool",
    ),
    _share(
        key="NR",
        label="NR",
        description="Share of plans that hold the necessary tools.",
        title="Necessary tools",
        good="holds them all",
        bad="lacks a tool",
    ),
    _share(
        key="HR",
        label="HR",
        description="Share of plans that name a false resource.",
        higher_is_better=False,
        fault=1.0,
        title="False resources",
        good="none false",
        bad="false resource",
    ),
    _share(
        key="CR",
        label="CR",
        description="Share of plans whose arguments all have the declared types.",
        title="Types of arguments",
        good="types agree",
        bad="wrong type",
    ),
    _share(
        key="SE_best",
        label="SE best of k",
        description="Lower end of SE for the best of up to five plans.",
        title="Solved by one of up to five plans",
    ),
    _share(
        key="valid",
        label="Valid",
        description="Share of plans that could be executed as written.",
        title="Could run as written",
    ),
    *MEASURES,
)
FACETS = Facets(
    filters=(
        STRUCTURE,
        MODALITY,
        Facet(
            name="level",
            label="Level",
            attribute="level",
            heading="Difficulty",
            order=("easy", "medium", "hard"),
            stands_alone=True,
        ),
        Facet(
            name="group",
            label="Group",
            attribute="group",
            several="several_domains",
            is_searched=True,
            stands_alone=True,
        ),
        Facet(name="flag", label="Defect", attribute="flags", tells_gold=True),
        Facet(name="active", label="Active split", attribute="active", order=("yes", "no")),
    ),
    facts=("level", "group", "structure", "modality"),
    breakdowns=("structure", "modality", "level", "group", "active"),
    plots=("structure", "level", "group"),
    comparisons=("level", "group", "structure"),
)
STEP_PROBLEMS = (
    StepProblem(indicator="IR", words="Irrelevant"),
    StepProblem(indicator="CR", words="Wrong type", is_type_conflict=True),
    StepProblem(indicator="HR", words="False resource"),
)
SCORING = (
    "Plans of this suite are judged, not executed. Rules follow each plan step by step and compare its results with "
    "the goal of the request. SE, IR, NR, HR and CR are ControlLLM's five metrics; each is yes or no for one plan, and "
    "the column is the share over all tasks, with Wilson's 95 % interval. For IR and HR lower is better. The other "
    "columns compare the plan with one gold plan; a right plan may differ from it."
)


def is_tool_suite(suite: Suite) -> bool:
    """Whether ControlLLM's metrics judge its plans."""
    return all(isinstance(task, ToolTask) for task in suite.tasks)


def tool_suite(
    *,
    slug: str,
    title: str,
    description: str,
    raw: Sequence[RawTask],
    reworded: Callable[[Task, random.Random], str | None] | None = None,
    hidden_requests: Callable[[Suite, str], tuple[Task, ...]] | None = None,
    public_draws: Callable[[int], Iterable[Task]] | None = None,
) -> Suite:
    """A suite of requests with derived goals."""
    return Suite(
        slug=slug,
        version=VERSION,
        title=title,
        description=description,
        metrics=COLUMNS,
        catalogue=CONTROLLLM,
        tasks=tuple(tool_task(entry) for entry in raw),
        conditions=Conditions(
            experts=False, samples=False, splits=("all",) if hidden_requests is None else ("all", HIDDEN)
        ),
        panels=(Panel.GOAL, Panel.INDICATORS),
        scoring=SCORING,
        facets=FACETS,
        defects=tuple(Defect(name=rule.name, description=rule.description, excludes=rule.excludes) for rule in RULES),
        step_problems=STEP_PROBLEMS,
        with_outage=with_outage,
        reworded=reworded,
        hidden_requests=hidden_requests,
        public_draws=public_draws,
        right_plans=partial(right_plans, executed=False),
    )


def right_plans(task: Task, record: "ResultRecord", plan: "Plan", *, executed: bool) -> "RightPlans":
    """See `Suite.right_plans`; `executed`: whether the suite executes plans."""
    assert isinstance(task, ToolTask)
    return nearest_plans(
        goal=task.goal, record=record, plan=plan, files=tuple(task.files), catalogue=CONTROLLLM, executed=executed
    )


def toolmini_suite() -> Suite:
    """Bundled requests, available without any download."""
    return tool_suite(
        slug="toolmini",
        title="toolmini",
        description="120 bundled requests in the groups of Tool100; needs no download.",
        raw=toolmini_tasks(),
        reworded=reworded,
        public_draws=lambda count: map(tool_task, drawn_tasks(count=count)),
        hidden_requests=lambda _, seed: tuple(
            map(tool_task, hidden_tasks(seed=derived("requests", "toolmini", seed=seed)))
        ),
    )


def reworded(task: Task, rng: random.Random) -> str | None:
    """Implements `Suite.reworded` for requests that consist of toolmini's sentences, and for hidden ones."""
    if isinstance(task, ToolTask) and task.other_words:
        return task.other_words
    return PARAPHRASES.reworded(task.text, rng=rng)


def tool100_suite() -> Suite:
    """Tool100 as released, from the fetched files.

    Raises:
        LookupError: the files were not fetched, or are damaged.
    """
    return tool_suite(
        slug="tool100",
        title="Tool100",
        description="ControlLLM's 127 requests with gold decompositions.",
        raw=read_tool100(_fetched() / TOOL100),
    )


def tool2k_suite() -> Suite:
    """Tool2K with its withdrawn gold decompositions, from the fetched files.

    Raises:
        LookupError: the files were not fetched, or are damaged.
    """
    folder = _fetched()
    return tool_suite(
        slug="tool2k",
        title="Tool2K",
        description="ControlLLM's 2,500 requests. Their gold was public for a day, so planners may have seen it.",
        raw=read_tool2k(folder / TOOL2K, gold_file(folder)),
    )


def _fetched() -> Path:
    folder = fetched_folder()
    if folder is None:
        raise LookupError(problem_of_fetched())
    return folder
