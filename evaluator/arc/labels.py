"""What a result of ARC is filtered and grouped by: helpers, views, errors, and how far its best candidate gets."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluator.arc.scoring import helpers_in, views_seen
from evaluator.arc.tools import VIEW
from evaluator.arc.views.kinds import View
from evaluator.core.records import ResultRecord

SOLVED, SOLVED_BY_FEEDBACK, MISLED, PARTLY, NOWHERE = "solved", "solved_by_feedback", "misled", "partly", "nowhere"
_AND = "+"
"""Between the views of an agent of the multi-expert system."""


def labels(record: ResultRecord) -> Mapping[str, Sequence[str]]:
    """The values of the facets `reached`, `failure`, `helper` and `view` of a result; no record is refused."""
    transcript = record.transcripts[0] if record.transcripts else None
    if transcript is None or not record.indicators:
        return {}
    candidates = list(_candidates(transcript.answer))
    programs = [text for one in candidates if (text := _text(one.get("content")))]
    seen = {name.partition(",")[0].strip(" '\"") for name in views_seen(transcript, tool=VIEW)}
    noted = _noted_views(record.planner_notes, programs=frozenset(programs))
    found = {
        "failure": {failure for one in candidates for failure in _failures(one)},
        "helper": {name for text in programs for name in helpers_in(text)},
        "view": {name for name in (*seen, *noted) if name in set(View)},
    }
    reached = {"reached": [_reached(record.indicators)]} if candidates else {}
    return {**reached, **{name: sorted(values) for name, values in found.items() if values}}


def _candidates(answer: str | None) -> Iterable[Mapping[str, Any]]:
    try:
        value = json.loads(answer or "[]")
    except (ValueError, RecursionError):
        return
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def _text(content: Any) -> str:
    return "\n".join(map(str, content)) if isinstance(content, list) else content if isinstance(content, str) else ""


def _failures(candidate: Mapping[str, Any]) -> Iterable[str]:
    for name in ("demonstrations", "tests"):
        made = candidate.get(name)
        for one in made if isinstance(made, list) else ():
            if isinstance(one, dict) and isinstance(one.get("failure"), str):
                yield one["failure"]


def _noted_views(notes: Mapping[str, Any], *, programs: frozenset[str]) -> Iterable[str]:
    """The views of the agents that wrote one of these programs, from the notes of the multi-expert system."""
    agents = notes.get("agents")
    for agent in agents if isinstance(agents, list) else ():
        replies = agent.get("replies") if isinstance(agent, dict) else None
        written = (one.get("program") for one in replies or () if isinstance(one, dict)) if replies else ()
        if any(isinstance(program, str) and program in programs for program in written):
            # Every agent sees the grid.
            yield from (View.GRID, *str(agent.get("view")).split(_AND))


def _reached(indicators: Mapping[str, float]) -> str:
    if indicators.get("solved_3", 0.0) == 1:
        return SOLVED_BY_FEEDBACK if indicators.get("by_feedback", 0.0) == 1 else SOLVED
    if indicators.get("misled", 0.0) == 1:
        return MISLED
    return PARTLY if indicators.get("demonstrations_passed", 0.0) > 0 else NOWHERE
