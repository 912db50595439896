"""The solution expert (section 3.2.4): describe every solution, score it from 1 to 5, rank, keep alternatives.

By a language model, one call for each solution, or offline. A language model is asked about the `MOST_JUDGED` solutions
that the offline score ranks first. The exhaustive strategy is not filtered by words before it is judged: a language
model is asked about all its solutions, and of more than `MOST_JUDGED_OF_ALL` about the shortest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.controlllm.strategies.asking import ask, read_score, signature
from evaluator.controlllm.strategies.search import GOOD, Chain
from evaluator.controlllm.strategies.subtasks import Scores, TypedSubtask
from evaluator.controlllm.strategies.words import Lexicon
from evaluator.core.language_model import Answer, Call

MOST_JUDGED = 15
MOST_JUDGED_OF_ALL = 1000
"""Calls for one subtask of the exhaustive strategy."""
MOST_KEPT = 5
"""The best solution and at most four alternatives."""
UNREADABLE = 1.0
"""Score of a solution whose answer cannot be read: it stays possible, behind all that were judged."""
_MAX_TOKENS = 160

INSTRUCTIONS = """\
You judge whether a solution, which is a sequence of tools, solves a task. Compare what the tools do, one after the
other, with what the task asks for.
Answer with JSON between tags and nothing else: <Solution>{"thought": "...", "score": n}</Solution>
"thought" is your reason in at most 50 words. "score" is a whole number:
1: it has nothing to do with the task.
2: it is hardly related and will probably not solve it.
3: it may solve the task, though another way may be better.
4: it solves the task well.
5: it does exactly what the task asks for, and nothing besides.
A solution whose words are close in meaning to those of the task deserves at least 3."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A solution with its score."""

    path: Chain
    score: float
    thought: str = ""


def describe(path: Chain) -> str:
    """A solution in words: its tools in order with what they do, take and give."""
    return "\n".join(f"{number}. {signature(tool)}" for number, tool in enumerate(path, start=1))


def score_offline(*, subtask: TypedSubtask, paths: Sequence[Chain], scores: Scores, lexicon: Lexicon) -> list[Ranked]:
    """Score solutions by words, in [1, 5], the best first.

    The score is 1 + 4 F, where F is the harmonic mean of two shares: how much of what the description says (its words,
    weighted, and the tools that it names) is said by some tool of the solution, counting only what any of the
    solutions says; and how useful its tools are on average, by their assessment, where a tool that says nothing that
    those before it have not said counts as useless. Of equal ones the shorter comes first.
    """
    said = _evidence(subtask=subtask, paths=paths, lexicon=lexicon)
    ranked = [Ranked(path=path, score=_score(path=path, said=said, scores=scores)) for path in paths]
    return sorted(ranked, key=lambda one: (-round(one.score, 9), len(one.path)))


def _evidence(*, subtask: TypedSubtask, paths: Sequence[Chain], lexicon: Lexicon) -> "_Evidence":
    text = subtask.description
    weights = dict(lexicon.weights_of(text))
    says: dict[str, frozenset[str]] = {}
    for tool in {tool.name: tool for path in paths for tool in path}.values():
        words = lexicon.words_of(tool) & weights.keys()
        if lexicon.names(text=text, tool=tool):
            # A name says which tool is meant; its words alone say it of others too.
            words |= {f"`{tool.name}`"}
            weights[f"`{tool.name}`"] = lexicon.heaviest
        says[tool.name] = words
    sayable = frozenset().union(*says.values())
    return _Evidence(weights=weights, says=says, most=sum(weights[word] for word in sayable))


@dataclass(frozen=True, slots=True)
class _Evidence:
    weights: Mapping[str, float]
    says: Mapping[str, frozenset[str]]
    """What of the description each tool says."""
    most: float
    """Weight of all that any tool says."""


def _score(*, path: Chain, said: _Evidence, scores: Scores) -> float:
    covered: frozenset[str] = frozenset()
    gained = 0.0
    for tool in path:
        if not said.says[tool.name] <= covered:
            gained += (scores[tool.name] - 1) / 4
            covered |= said.says[tool.name]
    recall = sum(said.weights[word] for word in sorted(covered)) / said.most if said.most else 1.0
    useful = gained / len(path)
    return 1 + 4 * (2 * recall * useful / (recall + useful) if recall + useful else 0.0)


def to_judge(ranked: Sequence[Ranked], *, most: int) -> Sequence[Ranked]:
    """The solutions that a language model is asked about, in the order of the offline score.

    Args:
        ranked: all solutions, by the offline score.
        most: `MOST_JUDGED`: so many of the first; `MOST_JUDGED_OF_ALL`: of more than that the shortest, of equal length
            those that stand first.
    """
    if most == MOST_JUDGED or len(ranked) <= most:
        return ranked[:most]
    shortest = sorted(range(len(ranked)), key=lambda place: len(ranked[place].path))[:most]
    return [ranked[place] for place in sorted(shortest)]


def judging_calls(*, request: str, subtask: TypedSubtask, solutions: Sequence[Ranked]) -> list[Call]:
    """One call for each solution."""
    return [
        ask(
            instructions=INSTRUCTIONS,
            question=f"Request: {request}\nTask: {subtask.description}\n\nSolution:\n{describe(solution.path)}",
            max_tokens=_MAX_TOKENS,
        )
        for solution in solutions
    ]


def rank_by_answers(*, solutions: Sequence[Ranked], answers: Sequence[Answer]) -> list[Ranked]:
    """The solutions with the scores of the answers, the best first, of equal ones the one that stood first."""
    judged = []
    for solution, answer in zip(solutions, answers, strict=True):
        read = read_score(answer, instead=UNREADABLE)
        judged.append(Ranked(path=solution.path, score=read.score, thought=read.thought or read.problem))
    return sorted(judged, key=lambda one: -one.score)


def keep(ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """The best solution, whatever its score, and up to four alternatives with a score of at least 3."""
    return (*ranked[:1], *[one for one in ranked[1:] if one.score >= GOOD][: MOST_KEPT - 1])
