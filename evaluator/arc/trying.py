"""The candidates that actions try, and those that were tried before any feedback."""

import json
from collections.abc import Iterable, Sequence

from evaluator.arc.candidates.forms import GRIDS, PROGRAM, STEPS
from evaluator.arc.candidates.kept import Kept, Track, kept_of
from evaluator.arc.candidates.steps import StepError, expression_of, joined, names_in, referred
from evaluator.arc.tools import TOOLS, VIEW
from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.transcripts import ActionRun, Transcript
from evaluator.episodes.turns.environment import Call
from evaluator.replies.turns.model import Reference

_MOST_DEPTH = 60
"""Of JSON. Grids have three levels; further ones are for the message that says so."""
_TRACKS = {PROGRAM: Track.PROGRAM, STEPS: Track.STEPS, GRIDS: Track.GRIDS}


def candidate_of(call: Call) -> Kept:
    """The candidate that an action tries.

    Raises:
        StepError: it is none.
    """
    if call.tool == PROGRAM:
        return Kept(Track.PROGRAM, call.arguments)
    if call.tool in _TRACKS:
        try:
            content = json.loads(call.arguments)
        except (ValueError, RecursionError):
            raise StepError(f"{call.tool} takes JSON") from None
        if not isinstance(content, list):
            raise StepError(f"{call.tool} takes a JSON list")
        if call.tool == STEPS and not (content and all(isinstance(line, str) for line in content)):
            raise StepError(f"{call.tool} takes a JSON list of expressions in Python, the last one the output")
        if not _can_be_kept(content):
            raise StepError(f"{call.tool} takes JSON of finite numbers, nested at most {_MOST_DEPTH} levels deep")
        return Kept(_TRACKS[call.tool], content)
    if call.tool not in TOOLS.tools:
        raise StepError(f"there is no tool {call.tool!r}; there are: {', '.join(TOOLS.tools)}")
    names = referred(call.references)
    parts = []
    for name in names:
        kept = kept_of(call.values[name])
        if kept is None or kept.track is not Track.STEPS or not isinstance(kept.content, list):
            raise StepError(f"{name} is no result of a helper")
        parts.append([str(line) for line in kept.content])
    lines, ends = joined(parts)
    last = expression_of(tool=call.tool, arguments=call.arguments, names=dict(zip(names, ends, strict=True)))
    return Kept(Track.STEPS, [*lines, last])


def _can_be_kept(content: list[JsonValue]) -> bool:
    """Whether canonical JSON can write it, also inside other values. `NaN` and `1e999` are read and not written."""
    level: list[JsonValue] = [content]
    for _ in range(_MOST_DEPTH):
        level = [part for one in level if isinstance(one, list) for part in one]
        if not level:
            break
    try:
        dumps(content)
    except (ValueError, RecursionError):
        return False
    return not level


def first_tries(transcript: Transcript) -> tuple[Kept, ...]:
    """The candidates of the first turn in which the planner tried any: nothing was known of a candidate before."""
    for turn in transcript.turns:
        tries = [action for action in turn.actions if action.tool in TOOLS.tools and action.tool != VIEW]
        if tries:
            return tuple(_tried(tries))
    return ()


def _tried(actions: Sequence[ActionRun]) -> Iterable[Kept]:
    results: dict[str, str] = {}
    for action in actions:
        named = names_in(action.arguments, known=results)
        references = tuple(Reference(name, 0, 0) for name in named)
        values = {name: results[name] for name in named}
        try:
            found = candidate_of(
                Call(
                    scope="", tool=action.tool, arguments=action.arguments, references=references, values=values,
                    outputs=1,
                )
            )  # fmt: skip
        except StepError:
            continue
        results |= dict.fromkeys(action.outputs, found.text())
        yield found
