"""The suite `lumos-mini`: five groups of sixty tasks in the miniature world."""

import random
from collections import Counter
from types import MappingProxyType

from evaluator.core.suites.base import Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.tools.types import ResourceType
from evaluator.episodes.base import Setting
from evaluator.episodes.executed import hidden_seed
from evaluator.lumos.mini.draws import EACH, Drawn, Source
from evaluator.lumos.mini.environment import MiniEnvironment
from evaluator.lumos.mini.groups import GROUPS, MATHS, PICTURES, QA, SQL, TOOLS, draw_group
from evaluator.lumos.mini.paraphrases import PARAPHRASES
from evaluator.lumos.mini.scenes import NOTICE
from evaluator.lumos.sql.environment import TOOL as SQL_TOOL
from evaluator.lumos.tasks import EPISODES, TurnTask, mean, plan_of_turns, solved
from evaluator.miniature.seeds import Split

SLUG = "lumos-mini"
VERSION = "2"
"""In version 1, hidden tasks had the grammar of public ones."""
SPLITS = ("public", "validation", HIDDEN)
TRAIN = "train"
_FOR_MAJORITY = 300
"""Number of training tasks of each group that determine the most frequent answer."""
_HOW = {
    "maths": "the answer is the right number",
    "sql": "the last result has the rows of the gold query, in its order if it has one",
    "qa": "the answer has the right words",
    "web": "what was bought has everything that was wanted",
    "pictures": "the answer has the right words",
}


COLUMNS = (
    solved("Share of all tasks that are solved, which is the mean of the five groups: each has as many tasks."),
    *(
        Column(
            key=name, label=GROUPS[name].title, metric=name, interval=IntervalMethod.WILSON,
            description=f"Share of the {EACH} tasks of this group that are solved: {_HOW[name]}.",
        )
        for name in GROUPS
    ),
    Column(
        key="reward", label="Web reward", metric="web", indicator=True,
        description="WebShop's reward of what was bought: the share of features, options and price limit that are met, "
        "0 for another kind of item. The shop is synthetic: WebShop-style, not WebShop.",
    ),
    Column(
        key="f1", label="QA F1", metric="qa", indicator=True,
        description="F1 of the words of answers over the chronicles.",
    ),
    mean(key="ended", label="Ended by itself", description=EPISODES[0].description),
    *EPISODES[1:],
)  # fmt: skip
_FACETS = (
    Facet(name="group", label="Group", attribute="group", heading="Group", order=tuple(GROUPS), stands_alone=True),
    Facet(name="kind", label="Kind", attribute="kind", heading="Kind of task"),
)
_SCORING = (
    "Five groups of sixty tasks: word problems, questions on databases, questions over a chronicle, a shop, and "
    "questions about pictures. Tools are local; articles are found by BM25, and texts and pictures are read by the "
    "profile's experts, which may be wrong where a solution is right. A planner sees of a picture only its name."
)


def first_version() -> Suite:
    """Version 1 of the suite, with its public tasks."""
    return mini_suite("1")


def mini_suite(version: str = VERSION) -> Suite:
    """The suite with its public tasks.

    Args:
        version: an earlier one has the hidden tasks of its time.
    """
    return Suite(
        slug=SLUG, version=version, title="LUMOS mini",
        description="Word problems, databases, chronicles, a shop and pictures of the miniature world, in turns.",
        metrics=COLUMNS, catalogue=TOOLS, tasks=tasks_of(Source(split=Split.PUBLIC)),
        conditions=Conditions(experts=True, samples=False, splits=SPLITS), panels=(Panel.TRANSCRIPT,), scoring=_SCORING,
        statement_tool=SQL_TOOL, reworded=_reworded, hidden_requests=_hidden, public_draws=_public_draws,
        training_splits=(TRAIN,),
        majority=majority,
        facets=Facets(filters=_FACETS, facts=("group", "kind"), breakdowns=("group", "kind"), plots=("group",),
                      comparisons=("group",)),
    )  # fmt: skip


def environment(setting: Setting) -> MiniEnvironment:
    """The environment of the setting's split.

    Raises:
        ValueError: there is no such split, or the hidden one lacks its seed.
    """
    return MiniEnvironment(source=source_of(setting), setting=setting)


def source_of(setting: Setting) -> Source:
    """The random source of the setting's split."""
    split = setting.split or SPLITS[0]
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    return Source(split=Split(split), hidden_seed=hidden_seed(setting))


def tasks_of(source: Source, *, count: int = EACH, hidden_grammar: bool = True) -> tuple[TurnTask, ...]:
    """The tasks of each group; keys and kinds are the same on each split. See `draw_group`."""
    return tuple(
        task_of(drawn, group=group, number=number)
        for group in GROUPS
        for number, drawn in enumerate(
            draw_group(group=group, source=source, count=count, hidden_grammar=hidden_grammar)
        )
    )


def task_of(drawn: Drawn, *, group: str, number: int) -> TurnTask:
    """A drawn task as a task of the suite."""
    statement_tool = SQL_TOOL if group == SQL else ""
    kinds = {name: ResourceType.TEXT if name == NOTICE else ResourceType.IMAGE for name in drawn.pictures}
    return TurnTask(
        key=f"{group}/{number}", text=drawn.text, structure="linear", metric=group, resources=MappingProxyType(kinds),
        expects=ResourceType.TEXT, gold=plan_of_turns(drawn.gold, catalogue=TOOLS, statement_tool=statement_tool),
        answer=drawn.answer, facts=MappingProxyType({"group": group, "kind": drawn.kind}), scope=drawn.scope,
        tools=GROUPS[group].tools,
    )  # fmt: skip


def majority() -> dict[str, str]:
    """The most frequent answer among training tasks, by group, for groups whose answers are words or numbers."""
    answers = {}
    for group in (MATHS, QA, PICTURES):
        drawn = draw_group(group=group, source=Source(split=Split.TRAIN), count=_FOR_MAJORITY)
        ((answers[group], _),) = Counter(task.answer for task in drawn).most_common(1)
    return answers


def _reworded(task: Task, rng: random.Random) -> str | None:
    # Hidden requests have a name of their own, and their sentences no paraphrases.
    return None if task.asked_as else PARAPHRASES.reworded(task.text, rng=rng)


def _public_draws(count: int) -> tuple[Task, ...]:
    return tasks_of(Source(split=Split.TRAIN), count=-(-count // len(GROUPS)))


def _hidden(suite: Suite, seed: str) -> tuple[Task, ...]:
    return tasks_of(Source(split=Split.HIDDEN, hidden_seed=seed), hidden_grammar=suite.version != "1")
