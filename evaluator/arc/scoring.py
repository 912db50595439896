"""What the candidates of an answer are worth."""

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
    """A candidate with what it made."""

    candidate: ArcCandidate
    outputs: Outputs
    demonstrated: tuple[Grid, ...]
    """The right outputs of the demonstrations, as many as the candidate has outputs."""
    demonstrations_passed: int
    tests_passed: int

    @property
    def passes_demonstrations(self) -> bool:
        """Whether it gets all right; grids say nothing about demonstrations."""
        return 0 < self.demonstrations_passed == len(self.outputs.demonstrations)

    @property
    def fails(self) -> bool:
        """Whether it ends in an error on an input."""
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
    """A candidate beside the right outputs of demonstrations and tests."""
    demonstrated = tuple(demonstrated[: len(outputs.demonstrations)])
    return Judged(
        candidate=candidate, outputs=outputs, demonstrated=demonstrated,
        demonstrations_passed=sum(map(eq, outputs.demonstrations, demonstrated)),
        tests_passed=sum(map(eq, outputs.tests, expected)),
    )  # fmt: skip


def indicators(found: Sequence[Judged], *, tests: int, first: Sequence[ArcCandidate] = ()) -> dict[str, float]:
    """The columns of a task: solved by the first one, two and three candidates, and what they come near to.

    Args:
        found: the candidates, best first; none where there is no answer.
        tests: how many test inputs the task has.
        first: the candidates that were tried before any feedback.
    """
    solved = [one.solves for one in found]
    solutions = [one.candidate for one in found if one.solves]
    passes = [one for one in found if one.passes_demonstrations]
    shares = [
        one.demonstrations_passed / len(one.outputs.demonstrations) for one in found if one.outputs.demonstrations
    ]
    best = found[0].candidate if found else None
    return {
        **{f"solved_{count}": float(any(solved[:count])) for count in (1, 2, 3)},
        "tests_right": max((one.tests_passed for one in found), default=0) / tests,
        "demonstrations_passed": max(shares, default=0.0),
        "misled": float(bool(passes) and not any(one.solves for one in passes)),
        "errors": float(bool(found) and found[0].fails),
        "by_feedback": float(bool(solutions) and not any(_is_among(one, first) for one in solutions)),
        **({"helpers": float(len(helpers_in(content_text(best.content))))} if best and best.is_run else {}),
        **{f"by_{track}": float(best is not None and best.track is track) for track in Track},
    }


def views_seen(transcript: Transcript, *, tool: str) -> frozenset[str]:
    """The different views that a planner got, by the arguments of the tool."""
    actions = [action for turn in transcript.turns for action in turn.actions]
    return frozenset(action.arguments for action in actions if action.tool == tool and action.problem is None)


def helpers_in(text: str) -> frozenset[str]:
    """The helpers that a program, or the lines of steps, name."""
    return frozenset(_NAME.findall(text)) & frozenset(HELPERS)


def content_text(content: object) -> str:
    """The content of a candidate as one text: a program, or the lines of steps."""
    return "\n".join(map(str, content)) if isinstance(content, list) else str(content)


def _is_among(candidate: ArcCandidate, others: Sequence[ArcCandidate]) -> bool:
    """Whether it is one of the others; a transcript has only the beginning of a long program."""
    if candidate in others:
        return True
    cut = [str(one.content)[:-1] for one in others if len(str(one.content)) == LONGEST_TEXT]
    return candidate.track is Track.PROGRAM and any(str(candidate.content).startswith(one) for one in cut)


def answer_text(found: Sequence[Judged]) -> str:
    """The candidates with what they made, as the answer that readers of the record see: a JSON list of
    `{"track", "content", "demonstrations", "tests"}`. Outputs are rows of letters, or failures. A program and steps are
    content; output grids have none. Contents, and then outputs, that have no room are null; a record keeps only the
    beginning of a longer text."""
    answer = [one.to_json() for one in found]
    for name, place in ((name, place) for name in ("content", "tests") for place in reversed(range(len(answer)))):
        if len(dumps(answer)) <= LONGEST_TEXT:
            break
        answer[place] |= {name: None}
    return dumps(answer)


def _failure(output: Output) -> JsonValue:
    if not isinstance(output, Wrong):
        return None
    return {"failure": str(output.failure), "message": output.message, "line": output.line}
