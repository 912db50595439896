"""The generator's own solutions as LUMOS's training data: conversations for each module and each baseline.

Solutions are run, so that the conversations contain real results. Records have LUMOS's format: `{"dataset": str, "id":
str, "messages": [{"role": "user" | "assistant", "content": str}, ...]}`, in files of JSON lines.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall
from evaluator.core.turns import Formulation, PastTurn, TurnReply, TurnRequest, TurnResponse
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.lumos.mini.draws import Source
from evaluator.lumos.mini.environment import MiniEnvironment
from evaluator.lumos.mini.groups import GROUPS, draw_group
from evaluator.lumos.mini.low_level import low_level
from evaluator.lumos.mini.suite import mini_suite, task_of
from evaluator.lumos.strategies import templates
from evaluator.lumos.strategies.strategy import results_matter
from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.seeds import Split

FORMS = (
    "plan_iterative", "ground_iterative", "plan_onetime", "ground_onetime", "integrated", "chain_of_thought", "direct",
    "plan_low_level", "ground_low_level",
)  # fmt: skip
"""Forms of conversations, each written to `FORM.jsonl`."""
_LIMITS = Bounds(turns=16, actions=64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A solution that was run."""

    group: str
    number: int
    text: str
    tools: tuple[OfferedTool, ...]
    gold: tuple[GoldTurn, ...]
    past: tuple[PastTurn, ...]
    """The solution's turns with their results."""


@dataclass(slots=True)
class _Follower:
    """A planner that follows solutions, and records the last request of each episode."""

    gold: Mapping[str, tuple[GoldTurn, ...]]
    ended: dict[str, TurnRequest] = field(default_factory=dict)
    name: str = "gold turns"
    formulation: Formulation = Formulation.INTEGRATED

    def plan(self, request: PlannerRequest) -> PlannerReply:
        raise NotImplementedError("solutions are followed turn by turn")

    def turn(self, request: TurnRequest) -> TurnReply:
        gold, done = self.gold[request.task.id], len(request.history)
        if done == len(gold):
            self.ended[request.task.id] = request
            return TurnReply(response=TurnResponse(stop=True), call=PlannerCall(seconds=0.0))
        response = TurnResponse(subgoal=gold[done].subgoal, actions=gold[done].actions)
        return TurnReply(response=response, call=PlannerCall(seconds=0.0))


def solve(*, setting: Setting, count: int, groups: Sequence[str] = tuple(GROUPS), start: int = 0) -> Iterator[Solved]:
    """Run solutions of the training split. Those for which an expert's error leads to a wrong answer are skipped.

    Args:
        setting: profile of the experts and store of their results; its split is ignored.
        count: number of tasks of each group.
        groups: names of groups.
        start: number of the first task of each group.
    """
    source = Source(split=Split.TRAIN)
    tasks = {
        f"{group}/{number}": (group, number, drawn)
        for group in groups
        for number, drawn in enumerate(draw_group(group=group, source=source, count=count, start=start), start=start)
    }
    turn_tasks = tuple(task_of(drawn, group=group, number=number) for group, number, drawn in tasks.values())
    suite = replace(mini_suite(), tasks=turn_tasks)
    follower = _Follower({key: drawn.gold for key, (_, _, drawn) in tasks.items()})
    evaluator = TurnEvaluator(
        suite=suite, environment=MiniEnvironment(source=source, setting=setting, tasks=start + count), bounds=_LIMITS
    )  # fmt: skip
    for record in evaluator.run(planner=follower, tasks=list(tasks)):
        group, number, drawn = tasks[record.task]
        request = follower.ended.pop(record.task, None)
        if record.score == 1 and request is not None:
            yield Solved(
                group=group, number=number, text=templates.task_text(request.task),
                tools=tuple(request.tools), gold=drawn.gold, past=tuple(request.past),
            )  # fmt: skip


def records_of(solved: Solved) -> Mapping[str, dict[str, JsonValue]]:
    """LUMOS's records of a solution, by form."""
    subgoals = [turn.subgoal for turn in solved.gold]
    all_subgoals = "; ".join(f"Subgoal {number}: {text}" for number, text in enumerate(subgoals, start=1))
    all_actions = "; ".join(turn.actions for turn in solved.gold)
    gold, past = low_level(gold=solved.gold, past=solved.past)
    low = replace(solved, gold=gold, past=past)
    pairs: dict[str, list[tuple[str, str]]] = {
        "plan_iterative": _plan_iterative(solved),
        "ground_iterative": _ground_iterative(solved),
        "plan_onetime": [(templates.plan_prompt(task=solved.text, past=()), all_subgoals)],
        "ground_onetime": [(_ground(solved, past=(), subgoals=subgoals), all_actions)],
        "integrated": _integrated(solved),
        "chain_of_thought": [(templates.reasoning_prompt(solved.text), _reasoning(solved))],
        "direct": [(templates.direct_prompt(solved.text), templates.result_of(solved.past[-1]))],
        "plan_low_level": _plan_iterative(low),
        "ground_low_level": _ground_iterative(low),
    }
    return {form: _record(solved, pairs=exchanges) for form, exchanges in pairs.items()}


def write_training_data(*, folder: Path, setting: Setting, count: int, start: int = 0) -> Mapping[str, int]:
    """Write `FORM.jsonl` for each form and return the number of records of each.

    Raises:
        OSError: the folder cannot be written.
    """
    solutions = solve(setting=setting, count=count, start=start)
    return written(sorted(solutions, key=lambda solved: (solved.number, solved.group)), folder=folder)


def written(solutions: Iterable[Solved], *, folder: Path) -> Mapping[str, int]:
    """Write `FORM.jsonl` of solutions for each form and return the number of records of each.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {form: (folder / f"{form}.jsonl").open("w", encoding="utf-8") for form in FORMS}
    counts = dict.fromkeys(FORMS, 0)
    try:
        for solved in solutions:
            for form, record in records_of(solved).items():
                files[form].write(json.dumps(record, ensure_ascii=False) + "\n")
                counts[form] += 1
    finally:
        for file in files.values():
            file.close()
    return counts


def _plan_iterative(solved: Solved) -> list[tuple[str, str]]:
    pairs = []
    for number, turn in enumerate(solved.gold, start=1):
        keep = templates.KEEP if number > 1 else ""
        prompt = templates.plan_prompt(task=solved.text, past=solved.past[: number - 1])
        pairs.append((prompt, f"{keep}Subgoal {number}: {turn.subgoal}"))
    return [*pairs, (templates.plan_prompt(task=solved.text, past=solved.past), templates.STOP)]


def _ground_iterative(solved: Solved) -> list[tuple[str, str]]:
    return [
        (_ground(solved, past=solved.past[:place], subgoals=(turn.subgoal,)), turn.actions)
        for place, turn in enumerate(solved.gold)
    ]


def _integrated(solved: Solved) -> list[tuple[str, str]]:
    pairs = []
    for number, turn in enumerate(solved.gold, start=1):
        keep = templates.KEEP if number > 1 else ""
        reply = f"{keep}Subgoal {number}: {turn.subgoal} {templates.ACTIONS}{turn.actions}"
        past = solved.past[: number - 1]
        pairs.append((templates.integrated_prompt(task=solved.text, tools=solved.tools, past=past), reply))
    prompt = templates.integrated_prompt(task=solved.text, tools=solved.tools, past=solved.past)
    return [*pairs, (prompt, templates.STOP)]


def _ground(solved: Solved, *, past: Sequence[PastTurn], subgoals: Sequence[str]) -> str:
    return templates.ground_prompt(
        task=solved.text, tools=solved.tools, past=past, subgoals=subgoals, with_results=results_matter(solved.tools)
    )


def _reasoning(solved: Solved) -> str:
    """A rationale in one line: the subgoals with their results."""
    results = [" ".join(templates.result_of(past).split()) for past in solved.past]
    sentences = [f"{turn.subgoal} That is {result}." for turn, result in zip(solved.gold, results, strict=True)]
    return " ".join([*sentences, f"{templates.ANSWER_IS}{results[-1]}."])


def _record(solved: Solved, *, pairs: Sequence[tuple[str, str]]) -> dict[str, JsonValue]:
    """A conversation: the part of each prompt that follows the previous exchange, and the reply."""
    messages: list[JsonValue] = []
    before = ""
    for prompt, reply in pairs:
        added = prompt.removeprefix(before).removeprefix("\n").removeprefix(templates.USER)
        messages.append({"role": "user", "content": added.removesuffix(templates.ASSISTANT)})
        messages.append({"role": "assistant", "content": reply})
        before = prompt + reply
    dataset = f"lumos-mini-{solved.group}" if solved.group in GROUPS else solved.group
    return {"dataset": dataset, "id": f"{solved.group}_{solved.number}", "messages": messages}
