"""Shared by suites in turns: tasks with an answer and a gold solution, and columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import Column, IntervalMethod, Task
from evaluator.core.tools.types import Catalogue
from evaluator.replies.turns.actions import read_actions


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """One turn: a subgoal and the text of its actions, in the form of a planner's reply."""

    subgoal: str
    actions: str


@dataclass(frozen=True, kw_only=True)
class TurnTask(Task):
    """A task whose answer is text."""

    answer: str
    """The expected answer; for SQL the gold query."""
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    """Attributes for facets."""
    scope: str = ""
    """The object of its tools, such as the name of a database."""
    tools: tuple[str, ...] = ()
    """The tools that it offers; empty for all of the catalogue."""

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {**self.facts, "answer": self.answer}

    @property
    def offers(self) -> frozenset[str] | None:
        return frozenset(self.tools) or None


def plan_of_turns(turns: Sequence[GoldTurn], *, catalogue: Catalogue, statement_tool: str = "") -> Plan | None:
    """Gold turns as a plan, whose last result is the answer; None without turns."""
    steps: list[Step] = []
    for turn in turns:
        reply = read_actions(text=turn.actions, statements=bool(statement_tool), tools=tuple(catalogue.tools))
        for action in reply.actions:
            tool = catalogue[action.tool or statement_tool]
            number = f"s{len(steps) + 1}"
            outputs = named_outputs(action.outputs, names=tuple(tool.outputs))
            steps.append(Step(id=number, tool=tool.name, inputs={next(iter(tool.inputs)): action.raw}, outputs=outputs))
    if not steps:
        return None
    return Plan(
        steps=tuple(steps), answers=(list(steps[-1].outputs.values())[-1],),
        subgoals=tuple(turn.subgoal for turn in turns),
    )  # fmt: skip


def named_outputs(results: Sequence[str], *, names: Sequence[str]) -> dict[str, str]:
    """An action's results by the tool's output names; surplus results keep their own names."""
    return {names[place] if place < len(names) else result: result for place, result in enumerate(results)}


_share = partial(Column, indicator=True, interval=IntervalMethod.WILSON)
_mean = partial(Column, indicator=True)
_size = partial(Column, indicator=True, ordered=False, fault=None, high=None)


def solved(description: str) -> Column:
    """The share of solved tasks, the leaderboard's primary column."""
    return _share(
        key="solved", label="Solved", description=description, primary=True, title="Solved", good="solved",
        bad="not solved",
    )  # fmt: skip


def share(*, key: str, label: str, description: str) -> Column:
    """Another share of tasks."""
    return _share(key=key, label=label, description=description)


def mean(*, key: str, label: str, description: str) -> Column:
    """The mean of a value from 0 to 1."""
    return _mean(key=key, label=label, description=description)


EPISODES = (
    _share(
        key="ended", label="Ended by itself",
        description="Share of episodes that ended with an answer, not at a limit or with replies that cannot be read.",
    ),
    _mean(key="actions_done", label="Actions that worked", description="Share of an episode's actions with a result."),
    _size(key="turns", label="Turns", description="Mean number of turns."),
    _size(key="actions", label="Actions", description="Mean number of actions."),
)  # fmt: skip
