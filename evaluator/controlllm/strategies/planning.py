"""Stage two for all subtasks of a request: assess, search, judge, rank, fill. The calls of all subtasks go together."""

import heapq
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time

from evaluator.controlllm.strategies import binding, ranking
from evaluator.controlllm.strategies.asking import ReadScore
from evaluator.controlllm.strategies.binding import Solution, bind, solution_json
from evaluator.controlllm.strategies.ranking import Ranked
from evaluator.controlllm.strategies.search import (
    CandidateFunction,
    SearchResult,
    SearchStep,
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
    """The tools that may be called, with their words."""

    tools: tuple[Tool, ...]
    lexicon: Lexicon

    @classmethod
    def of(cls, tools: Sequence[Tool]) -> "Toolbox":
        return cls(tools=tuple(tools), lexicon=Lexicon(tools))


@dataclass(frozen=True, slots=True)
class Searching:
    """A subtask on its way: its tools, their scores, and what the search found."""

    subtask: TypedSubtask
    scores: Scores
    result: SearchResult
    seconds: float
    """Wall time of the search alone."""
    cpu_seconds: float
    ranked: tuple[Ranked, ...]
    """By the offline score, the best first."""
    unread: tuple[str, ...] = ()
    """Tools whose assessment by the language model could not be read, and why."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A solution of a subtask, complete."""

    path: tuple[str, ...]
    score: float
    solution: Solution
    thought: str = ""
    filled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """A subtask with the solutions that were kept, the best first; none if the search found none."""

    searching: Searching
    candidates: tuple[Candidate, ...]
    judged: int = 0
    """Solutions that a language model judged."""

    def notes(self) -> dict[str, JsonValue]:
        """How it came about, for the task's page."""
        result = self.searching.result
        return {
            "subtask": self.searching.subtask.id,
            "description": self.searching.subtask.description,
            "tool_scores": {name: round(score, 2) for name, score in sorted(_by_score(self.searching.scores))},
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


def _by_score(scores: Scores) -> list[tuple[str, float]]:
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


Asking = Generator[Sequence[Call], Sequence[Answer], tuple[Planned, ...]]


def plan_offline(
    *, subtasks: Sequence[TypedSubtask], toolbox: Toolbox, choose: CandidateFunction, per_step: bool = False
) -> tuple[Planned, ...]:
    """Plan without a language model; `per_step`: with scores that depend on the node (`ranking.assess_step`)."""
    return tuple(
        kept(searching=searching, ranked=searching.ranked)
        for searching in (
            search_subtask(subtask=subtask, toolbox=toolbox, choose=choose, assessed={}, per_step=per_step)
            for subtask in subtasks
        )
    )


def plan_by_asking(
    *, request: str, subtasks: Sequence[TypedSubtask], toolbox: Toolbox, choose: CandidateFunction
) -> Asking:
    """Plan with a language model for tool assessment, solution expert and resource expert.

    Three rounds of calls at most, each for all subtasks together. The exhaustive strategy skips the first.
    """
    if choose is exhaustive:
        given: Sequence[Mapping[str, ReadScore]] = [{}] * len(subtasks)
    else:
        given = yield from _assessments(subtasks=subtasks, toolbox=toolbox)
    searched = [
        search_subtask(subtask=subtask, toolbox=toolbox, choose=choose, assessed=assessed)
        for subtask, assessed in zip(subtasks, given, strict=True)
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
    """Search the solutions of one subtask and rank them offline; without assessments the tools are assessed offline."""
    tools = usable_tools(subtask=subtask, toolbox=toolbox)
    scores: Scores = {name: read.score for name, read in assessed.items()}
    used = scores or ranking.assess_offline(subtask=subtask, tools=tools, lexicon=toolbox.lexicon)
    step_scores = partial(_step_scores, scores=used, tools=tools) if per_step else None
    wall, cpu = perf_counter(), process_time()
    result = search(
        tools=tools, args=subtask.arg_types, returns=subtask.return_types, choose=choose, scores=used,
        step_scores=step_scores,
    )  # fmt: skip
    wall, cpu = perf_counter() - wall, process_time() - cpu
    ranked = ranking.score_offline(subtask=subtask, paths=result.paths, scores=used, lexicon=toolbox.lexicon)
    return Searching(
        subtask=subtask,
        scores=used,
        result=result,
        seconds=wall,
        cpu_seconds=cpu,
        ranked=tuple(ranked),
        unread=tuple(f"{name}: {read.problem}" for name, read in assessed.items() if read.problem),
    )


def _step_scores(step: SearchStep, *, scores: Scores, tools: Sequence[Tool]) -> Scores:
    return ranking.assess_step(step=step, scores=scores, tools=tools)


def usable_tools(*, subtask: TypedSubtask, toolbox: Toolbox) -> tuple[Tool, ...]:
    inside = tools_in_domains(tools=toolbox.tools, domains=subtask.domains)
    return reachable_tools(tools=inside, args=subtask.arg_types)


def _assessments(
    *, subtasks: Sequence[TypedSubtask], toolbox: Toolbox
) -> Generator[Sequence[Call], Sequence[Answer], list[Mapping[str, ReadScore]]]:
    tools = [usable_tools(subtask=subtask, toolbox=toolbox) for subtask in subtasks]
    answers = yield from _in_one(
        [ranking.assessment_calls(subtask=subtask, tools=own) for subtask, own in zip(subtasks, tools, strict=True)]
    )
    return [ranking.read_assessments(tools=own, answers=given) for own, given in zip(tools, answers, strict=True)]


def _judgements(
    *, request: str, searched: Sequence[Searching], most: int
) -> Generator[Sequence[Call], Sequence[Answer], list[Sequence[Ranked]]]:
    best = [ranking.to_judge(searching.ranked, most=most) for searching in searched]
    # A single solution is taken whatever its score, so nothing is asked about it.
    asked = [one if len(one) > 1 else () for one in best]
    answers = yield from _in_one(
        [
            ranking.judging_calls(request=request, subtask=searching.subtask, solutions=own)
            for searching, own in zip(searched, asked, strict=True)
        ]
    )
    return [
        ranking.rank_by_answers(solutions=own, answers=given) if given else one
        for one, own, given in zip(best, asked, answers, strict=True)
    ]


def _fillings(*, request: str, searched: Sequence[Searching], ranked: Sequence[Sequence[Ranked]]) -> Asking:
    kept = [
        [(one, bind(path=one.path, subtask=searching.subtask)) for one in ranking.keep(own)]
        for searching, own in zip(searched, ranked, strict=True)
    ]
    owners = [
        (searching.subtask, solution) for searching, own in zip(searched, kept, strict=True) for _, solution in own
    ]
    answers = yield from _in_one(
        [binding.filling_calls(request=request, subtask=subtask, solution=solution) for subtask, solution in owners]
    )
    waiting = iter(answers)
    return tuple(
        Planned(
            searching=searching,
            candidates=tuple(
                _candidate(ranked=one, subtask=searching.subtask, solution=solution, answers=next(waiting))
                for one, solution in own
            ),
            judged=len(of_subtask) if len(of_subtask) > 1 else 0,
        )
        for searching, own, of_subtask in zip(searched, kept, ranked, strict=True)
    )


def _in_one(groups: Sequence[Sequence[Call]]) -> Generator[Sequence[Call], Sequence[Answer], list[Sequence[Answer]]]:
    """Ask several groups of calls together; the answers by group. Where there is nothing to ask, nothing is."""
    calls = [call for group in groups for call in group]
    answers = iter((yield calls) if calls else ())
    return [[next(answers) for _ in group] for group in groups]


def kept(*, searching: Searching, ranked: Sequence[Ranked]) -> Planned:
    subtask = searching.subtask
    return Planned(
        searching=searching,
        candidates=tuple(
            _candidate(ranked=one, subtask=subtask, solution=bind(path=one.path, subtask=subtask))
            for one in ranking.keep(ranked)
        ),
    )


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
    """Whole plans as lists of subtasks, the best first: one solution for each subtask, at most five plans.

    Ordered by what is lost against the best solutions, summed over the subtasks. A subtask without a solution adds
    nothing to a plan: the others are planned all the same.
    """
    solved = [one for one in planned if one.candidates]
    return [_plan(solved=solved, picks=picks) for picks in _best_picks([_losses(one) for one in solved])]


def _losses(planned: Planned) -> list[float]:
    best = planned.candidates[0].score
    return [best - candidate.score for candidate in planned.candidates]


def _best_picks(losses: Sequence[Sequence[float]]) -> list[tuple[int, ...]]:
    """The `MOST_PLANS` choices of one index for each list with the least sums, by a heap over their neighbours."""
    first = (0,) * len(losses)
    waiting = [(0.0, first)]
    seen = {first}
    found: list[tuple[int, ...]] = []
    while waiting and len(found) < MOST_PLANS:
        _, picks = heapq.heappop(waiting)
        found.append(picks)
        for place, pick in enumerate(picks):
            after = (*picks[:place], pick + 1, *picks[place + 1 :])
            if pick + 1 < len(losses[place]) and after not in seen:
                seen.add(after)
                heapq.heappush(waiting, (sum(own[one] for own, one in zip(losses, after, strict=True)), after))
    return found


def _plan(*, solved: Sequence[Planned], picks: Sequence[int]) -> list[JsonValue]:
    return [solution_json(one.candidates[pick].solution) for one, pick in zip(solved, picks, strict=True)]
