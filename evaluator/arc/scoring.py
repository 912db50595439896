"""Scores the candidates of an answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

from evaluator.arc.candidates import ArcCandidate, Output, Outputs, Track, Wrong
from evaluator.arc.grids import Grid, letters_of
from evaluator.arc.helpers.catalogue import HELPERS
from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.transcripts import LONGEST_TEXT, Transcript

_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A candidate with its outputs."""

    candidate: ArcCandidate
    outputs: Outputs
    demonstrated: tuple[Grid, ...]
    """The expected outputs of the demonstrations, as many as the candidate has outputs."""
    demonstrations_passed: int
    tests_passed: int

    @property
    def passes_demonstrations(self) -> bool:
        """Whether all demonstrations are right; false for candidates of the grids track."""
        return 0 < self.demonstrations_passed == len(self.outputs.demonstrations)

    @property
    def fails(self) -> bool:
        """Whether it fails on any input."""
        return any(isinstance(output, Wrong) for output in (*self.outputs.demonstrations, *self.outputs.tests))

    @property
    def solves(self) -> bool:
        """Whether every test output is right."""
        return self.tests_passed == len(self.outputs.tests)

    def to_json(self) -> dict[str, JsonValue]:
        """The candidate in an answer; see `answer_text`."""
        rights = zip(self.outputs.demonstrations, self.demonstrated, strict=True)
        return {
            "track": str(self.candidate.track),
            "content": self.candidate.content if self.candidate.is_run else None,
            "demonstrations": [_failure(output) or ("ok" if output == right else "wrong") for output, right in rights],
            "tests": [
                _failure(output) if isinstance(output, Wrong) else ["".join(row) for row in letters_of(output)]
                for output in self.outputs.tests
            ],
        }


def judged(
    *, candidate: ArcCandidate, outputs: Outputs, demonstrated: Sequence[Grid], expected: Sequence[Grid]
) -> Judged:
    """Compare a candidate's outputs with the expected ones."""
    demonstrated = tuple(demonstrated[: len(outputs.demonstrations)])
    return Judged(
        candidate=candidate, outputs=outputs, demonstrated=demonstrated,
        demonstrations_passed=sum(map(eq, outputs.demonstrations, demonstrated)),
        tests_passed=sum(map(eq, outputs.tests, expected)),
    )  # fmt: skip


def indicators(judgements: Sequence[Judged], *, tests: int, first: Sequence[ArcCandidate] = ()) -> dict[str, float]:
    """The columns of a task: solved by the first one, two and three candidates, and partial results.

    Args:
        judgements: the candidates, best first; empty without an answer.
        tests: number of test inputs of the task.
        first: the candidates that were tried before any feedback.
    """
    solved = [judged.solves for judged in judgements]
    solutions = [judged.candidate for judged in judgements if judged.solves]
    passes = [judged for judged in judgements if judged.passes_demonstrations]
    shares = [
        judged.demonstrations_passed / len(judged.outputs.demonstrations)
        for judged in judgements
        if judged.outputs.demonstrations
    ]
    best = judgements[0].candidate if judgements else None
    return {
        **{f"solved_{count}": float(any(solved[:count])) for count in (1, 2, 3)},
        "tests_right": max((judged.tests_passed for judged in judgements), default=0) / tests,
        "demonstrations_passed": max(shares, default=0.0),
        "misled": float(bool(passes) and not any(judged.solves for judged in passes)),
        "errors": float(bool(judgements) and judgements[0].fails),
        "by_feedback": float(bool(solutions) and not any(_is_among(solution, first) for solution in solutions)),
        **({"helpers": float(len(helpers_in(content_text(best.content))))} if best and best.is_run else {}),
        **{f"by_{track}": float(best is not None and best.track is track) for track in Track},
    }


def views_seen(transcript: Transcript, *, tool: str) -> frozenset[str]:
    """The distinct views that a planner received, as arguments of the tool."""
    actions = [action for turn in transcript.turns for action in turn.actions]
    return frozenset(action.arguments for action in actions if action.tool == tool and action.problem is None)


def helpers_in(text: str) -> frozenset[str]:
    """The helpers named in a program or in steps."""
    return frozenset(_NAME.findall(text)) & frozenset(HELPERS)


def content_text(content: object) -> str:
    """The content of a candidate as text: a program, or the lines of steps."""
    return "\n".join(map(str, content)) if isinstance(content, list) else str(content)


def _is_among(candidate: ArcCandidate, others: Sequence[ArcCandidate]) -> bool:
    """Whether it is one of the others; transcripts truncate long programs."""
    if candidate in others:
        return True
    truncated = [str(other.content)[:-1] for other in others if len(str(other.content)) == LONGEST_TEXT]
    return candidate.track is Track.PROGRAM and any(str(candidate.content).startswith(text) for text in truncated)


def answer_text(judgements: Sequence[Judged]) -> str:
    """The candidates with their outputs, as the answer in the record: a JSON list of
    `{"track", "content", "demonstrations", "tests"}`. Outputs are rows of letters, or failures. The content is the
    program or the steps; null for output grids. If the text would exceed the limit of records, contents become null,
    then outputs."""
    answer = [judged.to_json() for judged in judgements]
    for name, place in ((name, place) for name in ("content", "tests") for place in reversed(range(len(answer)))):
        if len(dumps(answer)) <= LONGEST_TEXT:
            break
        answer[place] |= {name: None}
    return dumps(answer)


def _failure(output: Output) -> JsonValue:
    if not isinstance(output, Wrong):
        return None
    return {"failure": str(output.failure), "message": output.message, "line": output.line}
