"""Stage two for all subtasks of a request: assess, search, judge, rank, fill. Calls are batched over the subtasks."""

import heapq
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter, process_time

from evaluator.controlllm.strategies import binding, ranking
from evaluator.controlllm.strategies.asking import ReadScore
from evaluator.controlllm.strategies.binding import Solution, bind, solution_json
from evaluator.controlllm.strategies.ranking import Ranked
from evaluator.controlllm.strategies.search import (
    CandidateFunction,
    SearchResult,
    exhaustive,
    reachable_tools,
    search,
    tools_in_domains,
)
from evaluator.controlllm.strategies.subtasks import Scores, TypedSubtask
from evaluator.controlllm.strategies.words import Lexicon
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Answer, Call
from evaluator.core.tools.types import Tool

MOST_PLANS = 5
"""A plan and at most four alternatives."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The available tools with their lexicon."""

    tools: tuple[Tool, ...]
    lexicon: Lexicon

    @classmethod
    def of(cls, tools: Sequence[Tool]) -> "Toolbox":
        return cls(tools=tuple(tools), lexicon=Lexicon(tools))


@dataclass(frozen=True, slots=True)
class Searching:
    """The search for the solutions of a subtask."""

    subtask: TypedSubtask
    scores: Scores
    result: SearchResult
    seconds: float
    """Wall time of the search only."""
    cpu_seconds: float
    ranked: tuple[Ranked, ...]
    """By the offline score, best first."""
    unread: tuple[str, ...] = ()
    """Tools whose assessment by the language model could not be parsed, with the reason."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A complete solution of a subtask."""

    path: tuple[str, ...]
    score: float
    solution: Solution
    thought: str = ""
    filled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """A subtask with its best solutions in order; none if the search found none."""

    searching: Searching
    candidates: tuple[Candidate, ...]
    judged: int = 0
    """Solutions that a language model judged."""

    def notes(self) -> dict[str, JsonValue]:
        """Details of the search, for the task's page."""
        result = self.searching.result
        return {
            "subtask": self.searching.subtask.id,
            "description": self.searching.subtask.description,
            "tool_scores": {name: round(score, 2) for name, score in sorted(self.searching.scores.items())},
            "unread_assessments": list(self.searching.unread),
            "solutions_found": len(result.paths),
            "tools_entered": result.nodes,
            "solutions_judged": self.judged,
            "longest_path_searched": result.most,
            "all_arguments_used": result.all_arguments,
            "candidates": [
                {
                    "tools": list(candidate.path),
                    "score": round(candidate.score, 2),
                    "thought": candidate.thought,
                    "filled": list(candidate.filled),
                }
                for candidate in self.candidates
            ],
        }


Asking = Generator[Sequence[Call], Sequence[Answer], tuple[Planned, ...]]


def plan_offline(
    *, subtasks: Sequence[TypedSubtask], toolbox: Toolbox, choose: CandidateFunction, per_step: bool = False
) -> tuple[Planned, ...]:
    """Plan without a language model; `per_step`: with scores that depend on the node (`ranking.assess_step`)."""
    searched = (
        search_subtask(subtask=subtask, toolbox=toolbox, choose=choose, assessed={}, per_step=per_step)
        for subtask in subtasks
    )
    return tuple(planned_of(searching=searching, ranked=searching.ranked) for searching in searched)


def plan_by_asking(
    *, request: str, subtasks: Sequence[TypedSubtask], toolbox: Toolbox, choose: CandidateFunction
) -> Asking:
    """Plan with a language model for tool assessment, solution expert and resource expert.

    At most three rounds of calls, each for all subtasks. The exhaustive strategy skips the first.
    """
    assessments: Sequence[Mapping[str, ReadScore]] = [{}] * len(subtasks)
    if choose is not exhaustive:
        tools = [usable_tools(subtask=subtask, toolbox=toolbox) for subtask in subtasks]
        calls = [
            ranking.assessment_calls(subtask=subtask, tools=own) for subtask, own in zip(subtasks, tools, strict=True)
        ]
        answers = yield from _batched(calls)
        assessments = [
            ranking.read_assessments(tools=own, answers=group) for own, group in zip(tools, answers, strict=True)
        ]
    searched = [
        search_subtask(subtask=subtask, toolbox=toolbox, choose=choose, assessed=assessed)
        for subtask, assessed in zip(subtasks, assessments, strict=True)
    ]
    most = ranking.MOST_JUDGED_OF_ALL if choose is exhaustive else ranking.MOST_JUDGED
    judged = yield from _judgements(request=request, searched=searched, most=most)
    return (yield from _fillings(request=request, searched=searched, ranked=judged))


def search_subtask(
    *,
    subtask: TypedSubtask,
    toolbox: Toolbox,
    choose: CandidateFunction,
    assessed: Mapping[str, ReadScore],
    per_step: bool = False,
) -> Searching:
    """Search the solutions of one subtask and rank them offline; tools without assessments are assessed offline."""
    tools = usable_tools(subtask=subtask, toolbox=toolbox)
    scores: Scores = {name: read.score for name, read in assessed.items()}
    scores = scores or ranking.assess_offline(subtask=subtask, tools=tools, lexicon=toolbox.lexicon)
    wall, cpu = perf_counter(), process_time()
    result = search(
        tools=tools, args=subtask.arg_types, returns=subtask.return_types, choose=choose, scores=scores,
        step_scores=partial(ranking.assess_step, scores=scores, tools=tools) if per_step else None,
    )  # fmt: skip
    wall, cpu = perf_counter() - wall, process_time() - cpu
    ranked = ranking.score_offline(subtask=subtask, paths=result.paths, scores=scores, lexicon=toolbox.lexicon)
    return Searching(
        subtask=subtask,
        scores=scores,
        result=result,
        seconds=wall,
        cpu_seconds=cpu,
        ranked=tuple(ranked),
        unread=tuple(f"{name}: {read.problem}" for name, read in assessed.items() if read.problem),
    )


def usable_tools(*, subtask: TypedSubtask, toolbox: Toolbox) -> tuple[Tool, ...]:
    in_domains = tools_in_domains(tools=toolbox.tools, domains=subtask.domains)
    return reachable_tools(tools=in_domains, args=subtask.arg_types)


def _judgements(
    *, request: str, searched: Sequence[Searching], most: int
) -> Generator[Sequence[Call], Sequence[Answer], list[Sequence[Ranked]]]:
    best = [ranking.to_judge(searching.ranked, most=most) for searching in searched]
    # A single solution is used whatever its score, so it is not judged.
    answers = yield from _batched(
        [
            ranking.judging_calls(request=request, subtask=searching.subtask, solutions=own) if len(own) > 1 else []
            for searching, own in zip(searched, best, strict=True)
        ]
    )
    return [
        ranking.rank_by_answers(solutions=own, answers=group) if group else own
        for own, group in zip(best, answers, strict=True)
    ]


def _fillings(*, request: str, searched: Sequence[Searching], ranked: Sequence[Sequence[Ranked]]) -> Asking:
    bound = [
        [(best, bind(path=best.path, subtask=searching.subtask)) for best in ranking.keep(own)]
        for searching, own in zip(searched, ranked, strict=True)
    ]
    answers = yield from _batched(
        [
            binding.filling_calls(request=request, subtask=searching.subtask, solution=solution)
            for searching, own in zip(searched, bound, strict=True)
            for _, solution in own
        ]
    )
    remaining = iter(answers)
    return tuple(
        Planned(
            searching=searching,
            candidates=tuple(
                _candidate(ranked=best, subtask=searching.subtask, solution=solution, answers=next(remaining))
                for best, solution in own
            ),
            judged=len(judged) if len(judged) > 1 else 0,
        )
        for searching, own, judged in zip(searched, bound, ranked, strict=True)
    )


def _batched(groups: Sequence[Sequence[Call]]) -> Generator[Sequence[Call], Sequence[Answer], list[Sequence[Answer]]]:
    """Submit groups of calls as one batch, unless it is empty; returns the answers by group."""
    calls = [call for group in groups for call in group]
    answers = iter((yield calls) if calls else ())
    return [[next(answers) for _ in group] for group in groups]


def planned_of(*, searching: Searching, ranked: Sequence[Ranked]) -> Planned:
    """A subtask with its best solutions, filled offline."""
    subtask = searching.subtask
    return Planned(
        searching=searching,
        candidates=tuple(
            _candidate(ranked=best, subtask=subtask, solution=bind(path=best.path, subtask=subtask))
            for best in ranking.keep(ranked)
        ),
    )


def as_demanded(planned: Planned, *, toolbox: Toolbox) -> Planned:
    """A subtask with only those solutions that do what it demands: no correction may change what was asked.

    Such a solution ends with the tool that makes the demanded result, selects by a text if that is demanded, and has no
    other tool that changes or draws a picture. If the search found none, it is the demanded chain.
    """
    subtask = planned.searching.subtask
    if subtask.lacks:
        return replace(planned, candidates=())
    if not subtask.demanded:
        return planned
    by_name = {tool.name: tool for tool in toolbox.tools}
    kept = tuple(own for own in planned.candidates if _is_demanded(own.path, subtask=subtask, tools=by_name))
    if kept:
        return replace(planned, candidates=kept)
    chain = tuple(by_name[name] for name in subtask.demanded)
    return planned_of(searching=planned.searching, ranked=[ranking.Ranked(path=chain, score=ranking.UNREADABLE)])


def _is_demanded(path: Sequence[str], *, subtask: TypedSubtask, tools: Mapping[str, Tool]) -> bool:
    demanded = subtask.demanded
    selects = any(name.startswith("select_") for name in demanded)
    changes = {name for name in path if tools[name].domain in _CHANGING}
    return (
        path[-1] in (demanded[-1], *([_GROUNDING] if demanded[-1] == "select_bbox" else []))
        and changes <= set(demanded)
        and (not selects or any(name.startswith("select_") or name == _GROUNDING for name in path))
    )


_CHANGING = ("image-editing", "image-generation", "video-editing", "video-generation")
_GROUNDING = "visual_grounding"


def _candidate(
    *, ranked: Ranked, subtask: TypedSubtask, solution: Solution, answers: Sequence[Answer] = ()
) -> Candidate:
    filled = binding.fill(subtask=subtask, solution=solution, answers=answers)
    return Candidate(
        path=tuple(tool.name for tool in ranked.path),
        score=ranked.score,
        solution=filled.solution,
        thought=ranked.thought,
        filled=filled.notes,
    )


def plans_of(planned: Sequence[Planned]) -> list[list[JsonValue]]:
    """At most five whole plans, best first: one solution for each subtask.

    They are ordered by the difference of their scores to the best solutions, summed over the subtasks. A subtask
    without a solution contributes no steps.
    """
    candidates = [subtask.candidates for subtask in planned if subtask.candidates]
    losses = [[own[0].score - candidate.score for candidate in own] for own in candidates]
    return [
        [solution_json(own[pick].solution) for own, pick in zip(candidates, picks, strict=True)]
        for picks in _best_picks(losses)
    ]


def _best_picks(losses: Sequence[Sequence[float]]) -> list[tuple[int, ...]]:
    """The `MOST_PLANS` choices of one index for each list with the least sums, by a heap over their neighbours."""
    first = (0,) * len(losses)
    heap = [(0.0, first)]
    seen = {first}
    best: list[tuple[int, ...]] = []
    while heap and len(best) < MOST_PLANS:
        _, picks = heapq.heappop(heap)
        best.append(picks)
        for place, pick in enumerate(picks):
            neighbour = (*picks[:place], pick + 1, *picks[place + 1 :])
            if pick + 1 < len(losses[place]) and neighbour not in seen:
                seen.add(neighbour)
                loss = sum(own[index] for own, index in zip(losses, neighbour, strict=True))
                heapq.heappush(heap, (loss, neighbour))
    return best
