"""What happens in a run, as JSON for pages, the API and the terminal.

Each event has a `kind` and the time of no clock: readers number them in the order of arrival.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.plans.model import Plan, Problem, plan_to_json
from evaluator.core.records import ArtefactReference, StepRun

LONGEST_TEXT = 4_000
"""Characters of a text in an event."""
_LONGEST_NOTES = 50_000
"""Characters as JSON; longer ones are left out."""
_MOST_ITEMS = 20
"""Texts in a list."""


class Ending(StrEnum):
    """How a run ended."""

    MADE = "made"
    """Every step ran and every answer exists."""
    PARTLY = "partly"
    """Some steps ran."""
    DECLINED = "declined"
    """The planner said that no plan can meet the request."""
    NO_PLAN = "no_plan"
    """The planner gave no plan that can be read and run."""
    FAILED = "failed"
    """Not the planner's fault: the planner or an expert could not be reached or loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event."""

    kind: str
    facts: Mapping[str, JsonValue]

    def to_json(self) -> dict[str, JsonValue]:
        """The event as one object."""
        return {"kind": self.kind, **self.facts}


def given(
    files: Mapping[str, tuple[str, ArtefactReference]],
    *,
    marks: Mapping[str, JsonValue] = MappingProxyType({}),
    sizes: Mapping[str, tuple[int, int]] = MappingProxyType({}),
) -> Event:
    """The files of the request, as type and artefact by name, with the width and height of pictures as they were given,
    and what was marked in them (`evaluator.core.marks.Placed.given`)."""
    shown: dict[str, JsonValue] = {
        name: {"type": kind, **_shown(ref), **({"size": list(sizes[name])} if name in sizes else {})}
        for name, (kind, ref) in files.items()
    }
    return Event(kind="given", facts={"files": shown, **({"marks": dict(marks)} if marks else {})})


def asked(*, planner: str, tools: int) -> Event:
    """The planner is being asked."""
    return Event(kind="asked", facts={"planner": planner, "tools": tools})


def planned(
    *,
    plan: Plan,
    seconds: float,
    tolerated: Sequence[str],
    notes: Mapping[str, JsonValue],
    edited: bool,
    alternatives: Sequence[Plan] = (),
) -> Event:
    """The plan that will run.

    Args:
        plan: as it was read.
        seconds: that the planner took.
        tolerated: parts of the reply that were ignored, as clauses.
        notes: how a bundled strategy found it.
        edited: whether it came with the request.
        alternatives: further plans of the planner that can run, best first.
    """
    facts: dict[str, JsonValue] = {
        "plan": plan_to_json(plan), "seconds": round(seconds, 3),
        "tolerated": [clipped(text) for text in tolerated[:_MOST_ITEMS]],
        "notes": dict(notes) if len(dumps(notes)) <= _LONGEST_NOTES else {}, "edited": edited,
        **({"alternatives": [plan_to_json(other) for other in alternatives]} if alternatives else {}),
    }  # fmt: skip
    return Event(kind="plan", facts=facts)


def stepped(run: StepRun) -> Event:
    """A step ran, was found in the store, or failed."""
    facts: dict[str, JsonValue] = {
        "step": run.step, "tool": run.tool, "expert": run.expert, "cached": run.cached, "seconds": run.seconds,
        "inputs": {name: _shown(ref) for name, ref in run.inputs.items()},
        "outputs": {name: _shown(ref) for name, ref in run.outputs.items()},
        "error": None if run.error is None else clipped(run.error),
    }  # fmt: skip
    return Event(kind="step", facts=facts)


def skipped(*, step: str, tool: str, why: str) -> Event:
    """A step did not run because an earlier one failed."""
    return Event(kind="skipped", facts={"step": step, "tool": tool, "why": why})


def ended(
    *,
    ending: Ending,
    text: str,
    answers: Sequence[ArtefactReference] = (),
    problems: Sequence[Problem] = (),
    received: str = "",
) -> Event:
    """The last event.

    Args:
        ending: how the run ended.
        text: what was done, in sentences.
        answers: the results.
        problems: faults of the plan.
        received: the reply, where it has no plan.
    """
    shown: list[JsonValue] = [_shown(answer) for answer in answers]
    facts: dict[str, JsonValue] = {
        "ending": ending.value, "text": clipped(text), "answers": shown,
        "problems": [clipped(problem.message) for problem in problems[:_MOST_ITEMS]], "received": clipped(received),
    }  # fmt: skip
    return Event(kind="ended", facts=facts)


def artefacts_of(event: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
    """Digest and media type of every artefact that an event names."""
    found: list[tuple[str, str]] = []

    def visit(value: JsonValue) -> None:
        if isinstance(value, Mapping):
            digest, media_type = value.get("digest"), value.get("media_type")
            if isinstance(digest, str) and isinstance(media_type, str):
                found.append((digest, media_type))
            for part in value.values():
                visit(part)
        elif isinstance(value, list):
            for part in value:
                visit(part)

    for name in ("files", "inputs", "outputs", "answers"):
        visit(event.get(name))
    return list(dict.fromkeys(found))


def clipped(text: str) -> str:
    """A text of at most `LONGEST_TEXT` characters."""
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _shown(reference: ArtefactReference) -> dict[str, JsonValue]:
    return {"digest": reference.digest, "media_type": reference.media_type}
