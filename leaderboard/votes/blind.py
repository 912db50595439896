"""What is shown of a run while its planner is unknown. Pure.

Only the plan, the steps, the results and the reply are shown. How the planner found its plan, how long it took and how
its reply was written would give it away. Names of planners and owners within texts are covered: whoever owns a planner
might have it sign its plans.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.workbench.events import Ending

COVER = "▮▮▮"
Cover = Callable[[Any], Any]
_LEAST_NAME = 3
"""Shorter names are in too many words to be a signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindSide:
    """One side of a pair."""

    ending: Ending | None
    """None: it has not ended."""
    text: str
    """The reply."""
    plan: Mapping[str, Any]
    """As of `plan/1`; empty: none so far."""
    steps: Sequence[Mapping[str, JsonValue]]
    """`step`, `tool`, and `state`: `done`, `failed` or `skipped`, in the order of the events."""
    inputs: Mapping[str, str]
    """Types of the request's inputs, by name."""
    answers: Sequence[Mapping[str, str]]
    """`digest` and `media_type`."""

    @property
    def characters(self) -> int:
        """Of its reply."""
        return len(self.text)


def blind_side(events: Iterable[Mapping[str, Any]], *, names: Sequence[str], tools: Collection[str] = ()) -> BlindSide:
    """A run as it is shown to voters.

    Args:
        events: bodies of its events (`evaluator.workbench.events`).
        names: to be covered.
        tools: names of tools of the suite, which no planner chose and which are left as they are.
    """
    bodies = list(events)
    by_kind = {body["kind"]: body for body in bodies}
    ended = by_kind.get("ended", {})
    cover = _cover_of(names)
    steps = [
        {"step": cover(body["step"]), "tool": _tool(body["tool"], tools=tools, cover=cover), "state": _state(body)}
        for body in bodies
        if body["kind"] in {"step", "skipped"} and "tool" in body
    ]
    ending = Ending(ended["ending"]) if "ending" in ended else None
    # The sentence of a run that failed names what could not be loaded.
    text = "" if ending is Ending.FAILED else cover(ended.get("text", ""))
    return BlindSide(
        ending=ending,
        text=text,
        plan=_plan(by_kind.get("plan", {}).get("plan") or {}, tools=tools, cover=cover),
        steps=steps,
        inputs={cover(name): file["type"] for name, file in by_kind.get("given", {}).get("files", {}).items()},
        answers=[{"digest": one["digest"], "media_type": one["media_type"]} for one in ended.get("answers", ())],
    )


def _plan(plan: Mapping[str, Any], *, tools: Collection[str], cover: Cover) -> dict[str, Any]:
    """A plan whose texts are covered, and whose keys are left: a planner may be called `steps` or `image`."""
    if not plan:
        return {}
    steps = [
        {
            "id": cover(step["id"]),
            "tool": _tool(step["tool"], tools=tools, cover=cover),
            **{side: _ports(step, side=side, tools=tools, cover=cover) for side in ("inputs", "outputs")},
        }
        for step in plan["steps"]
    ]
    return {"steps": steps, "answers": cover(plan["answers"])}


def _ports(step: Mapping[str, Any], *, side: str, tools: Collection[str], cover: Cover) -> dict[str, Any]:
    is_known = step["tool"] in tools
    return {(name if is_known else cover(name)): cover(value) for name, value in step[side].items()}


def _tool(name: str, *, tools: Collection[str], cover: Cover) -> str:
    return name if name in tools else cover(name)


def _state(body: Mapping[str, Any]) -> str:
    if body["kind"] == "skipped":
        return "skipped"
    return "failed" if body.get("error") else "done"


def _cover_of(names: Sequence[str]) -> Cover:
    """A function that covers names, whatever their case, in all texts of a JSON value."""
    known = sorted({name for name in names if len(name) >= _LEAST_NAME}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, known)), re.IGNORECASE) if known else None

    def cover(value: Any) -> Any:
        if pattern is None:
            return value
        if isinstance(value, str):
            return pattern.sub(COVER, value)
        if isinstance(value, Mapping):
            return {cover(name): cover(part) for name, part in value.items()}
        return [cover(part) for part in value] if isinstance(value, list | tuple) else value

    return cover
