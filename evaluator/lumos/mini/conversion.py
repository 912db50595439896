"""The generator's own solutions as LUMOS's training data: conversations for each module and each baseline.

Each solution is run, so that the conversations tell real results. A record is as LUMOS's: `{"dataset": str, "id": str,
"messages": [{"role": "user" | "assistant", "content": str}, ...]}`, in files of JSON lines.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite
from evaluator.core.turns import Formulation, PastTurn, TurnReply, TurnRequest, TurnResponse
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.lumos.mini.draws import Source
from evaluator.lumos.mini.environment import MiniEnvironment
from evaluator.lumos.mini.groups import GROUPS, draw_group
from evaluator.lumos.mini.suite import mini_suite, task_of
from evaluator.lumos.strategies import templates
from evaluator.lumos.strategies.strategy import results_matter
from evaluator.lumos.tasks import GoldTurn, TurnTask
from evaluator.miniature.seeds import Split

FORMS = (
    "plan_iterative", "ground_iterative", "plan_onetime", "ground_onetime", "integrated", "chain_of_thought", "direct",
)  # fmt: skip
"""What is written, each into `FORM.jsonl`."""
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
    """A turn with its results for each of the solution."""


@dataclass(slots=True)
class _Follower:
    """A planner that follows solutions and remembers what came of them."""

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
    """Run solutions of the training split, and leave out those that an expert leads to a wrong answer.

    Args:
        setting: profile of the experts and store of what they make; its split is ignored.
        count: tasks of each group.
        groups: names of groups.
        start: number of the first task of each.
    """
    source = Source(split=Split.TRAIN)
    drawn = {group: draw_group(group=group, source=source, count=count, start=start) for group in groups}
    tasks = {
        f"{group}/{number}": (group, number, one)
        for group, ones in drawn.items()
        for number, one in enumerate(ones, start=start)
    }
    suite = _training_suite([task_of(one, group=group, number=number) for group, number, one in tasks.values()])
    follower = _Follower({key: one.gold for key, (_, _, one) in tasks.items()})
    evaluator = TurnEvaluator(
        suite=suite, environment=MiniEnvironment(source=source, setting=setting, tasks=start + count), bounds=_LIMITS
    )  # fmt: skip
    for record in evaluator.run(planner=follower, tasks=list(tasks)):
        group, number, one = tasks[record.task]
        request = follower.ended.pop(record.task, None)
        if record.score == 1 and request is not None:
            yield Solved(
                group=group, number=number, text=templates.task_text(request.task),
                tools=tuple(request.tools), gold=one.gold, past=tuple(request.past),
            )  # fmt: skip


def records_of(solved: Solved) -> Mapping[str, dict[str, JsonValue]]:
    """LUMOS's records of a solution, by form."""
    pairs: dict[str, list[tuple[str, str]]] = {
        "plan_iterative": _plan_iterative(solved),
        "ground_iterative": _ground_iterative(solved),
        "plan_onetime": [(templates.plan_prompt(task=solved.text, past=()), _all_subgoals(solved))],
        "ground_onetime": [(_ground(solved, past=(), subgoals=_subgoals(solved)), _all_actions(solved))],
        "integrated": _integrated(solved),
        "chain_of_thought": [(templates.reasoning_prompt(solved.text), _reasoning(solved))],
        "direct": [(templates.direct_prompt(solved.text), _answer(solved))],
    }
    return {form: _record(solved, pairs=found) for form, found in pairs.items()}


def write_training_data(*, folder: Path, setting: Setting, count: int, start: int = 0) -> Mapping[str, int]:
    """Write `FORM.jsonl` for each form and return the number of records of each.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {form: (folder / f"{form}.jsonl").open("w", encoding="utf-8") for form in FORMS}
    written = dict.fromkeys(FORMS, 0)
    try:
        for solved in sorted(solve(setting=setting, count=count, start=start), key=lambda one: (one.number, one.group)):
            for form, record in records_of(solved).items():
                files[form].write(json.dumps(record, ensure_ascii=False) + "\n")
                written[form] += 1
    finally:
        for file in files.values():
            file.close()
    return written


def _training_suite(tasks: Sequence[TurnTask]) -> Suite:
    return replace(mini_suite(), tasks=tuple(tasks))


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


def _subgoals(solved: Solved) -> list[str]:
    return [turn.subgoal for turn in solved.gold]


def _all_subgoals(solved: Solved) -> str:
    return "; ".join(f"Subgoal {number}: {text}" for number, text in enumerate(_subgoals(solved), start=1))


def _all_actions(solved: Solved) -> str:
    return "; ".join(turn.actions for turn in solved.gold)


def _answer(solved: Solved) -> str:
    return templates.result_of(solved.past[-1])


def _reasoning(solved: Solved) -> str:
    """The subgoals with their results in one line, as a rationale."""
    said = [f"{turn.subgoal} That is {_line(templates.result_of(past))}." for turn, past in
            zip(solved.gold, solved.past, strict=True)]  # fmt: skip
    return " ".join([*said, f"{templates.ANSWER_IS}{_line(_answer(solved))}."])


def _line(text: str) -> str:
    return " ".join(text.split())


def _record(solved: Solved, *, pairs: Sequence[tuple[str, str]]) -> dict[str, JsonValue]:
    """One conversation: what each prompt adds to the one before and its reply."""
    messages: list[JsonValue] = []
    before = ""
    for prompt, reply in pairs:
        added = prompt.removeprefix(before).removeprefix("\n").removeprefix(templates.USER)
        messages.append({"role": "user", "content": added.removesuffix(templates.ASSISTANT)})
        messages.append({"role": "assistant", "content": reply})
        before = prompt + reply
    return {"dataset": f"lumos-mini-{solved.group}", "id": f"{solved.group}_{solved.number}", "messages": messages}
