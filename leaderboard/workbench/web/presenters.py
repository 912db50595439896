"""The page of a run: its request, its plan as a drawing, and each step that has ended."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Prefetch, prefetch_related_objects
from django.urls import reverse

from evaluator.core.marks import MarkKind
from evaluator.core.records import ArtefactReference
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import Catalogue, ResourceType
from evaluator.workbench.events import Ending
from evaluator.workbench.tree import ENDINGS
from leaderboard.evaluations.results.objects import object_url, server_store
from leaderboard.evaluations.visibility import Reader
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading, Shown
from leaderboard.evaluations.web.tasks.marks_shown import MarkedPicture, given_marks, marked
from leaderboard.evaluations.web.tasks.plan_graph import Graph, Marks, draw, types_of
from leaderboard.planners.kinds import KINDS, kind_of
from leaderboard.platform.fields import SeenBy
from leaderboard.workbench.asking import place_of, results_of, usual_seconds
from leaderboard.workbench.models import Run, RunFile, RunState

OUTCOMES = {
    Ending.MADE: "scored",
    Ending.PARTLY: "planner_fault",
    Ending.DECLINED: "not_run",
    Ending.NO_PLAN: "planner_fault",
    Ending.FAILED: "infra_fault",
}
"""Colours of endings, as outcomes of tasks have them."""


class Step(NamedTuple):
    """A step of the plan."""

    id: str
    tool: str
    state: str
    """`waits`, `done`, `stored`, `failed` or `skipped`."""
    why: str
    seconds: float
    expert: str
    inputs: tuple[Shown, ...]
    outputs: tuple[Shown, ...]


class Alternative(NamedTuple):
    """Another plan of the planner."""

    tools: tuple[str, ...]
    score: float | None
    """That the planner's search gave it; None if unknown."""
    plan: str
    """As JSON, to be run."""


class Pointable(NamedTuple):
    """A picture in which the next request may point."""

    name: str
    url: str
    size: tuple[int, int] | None
    """Width and height as it was given, in which places are counted; None: those of the shown picture."""


class RunPage(NamedTuple):
    """Context of the page."""

    run: Run
    planner: str
    state: str
    """As a few words."""
    outcome: str
    sentence: str
    files: tuple[Shown, ...]
    marks: tuple[MarkedPicture, ...]
    """Pictures with marks in them."""
    pictures: tuple[Pointable, ...]
    next_marks: str
    """Names that a mark of the next request may get, which sees the marks of this one."""
    graph: Graph | None
    steps: tuple[Step, ...]
    answers: tuple[Shown, ...]
    text: str
    problems: tuple[str, ...]
    received: str
    tolerated: tuple[str, ...]
    plan: str
    """The plan as JSON, to be edited."""
    alternatives: tuple[Alternative, ...]
    seconds: float | None
    """That the planner took."""
    notes: str
    """How the planner found its plan, as JSON."""
    is_task: bool
    """Whether it can become a task of one's own suite."""
    results: tuple[str, ...]
    """Names of the results in the next request."""
    events: int


def run_page(run: Run) -> RunPage:
    """The page of a run as it is now."""
    prefetch_related_objects([run], "events", Prefetch("files", RunFile.objects.defer("data")))
    results = results_of(run)
    events = [event.body for event in run.events.all()]
    by_kind = {body["kind"]: body for body in events}
    reading = Reading(store=server_store(split=""), url_of=lambda digest: object_url(digest=digest, split=""))
    planned, ended = by_kind.get("plan", {}), by_kind.get("ended", {})
    plan: Mapping[str, Any] = planned.get("plan") or {}
    catalogue = _catalogue(run)
    given, marks = (by_kind.get("given", {}).get(part, {}) for part in ("files", "marks"))
    seen = {body["step"]: body for body in events if body["kind"] in {"step", "skipped"}}
    for body in seen.values():
        if body["kind"] == "step":
            inputs, outputs = (
                {name: ArtefactReference(**artefact) for name, artefact in body[side].items()}
                for side in ("inputs", "outputs")
            )
            reading.listen(tool=body["tool"], inputs=inputs, outputs=outputs)
    steps = tuple(_step(step, seen=seen, reading=reading, catalogue=catalogue) for step in plan.get("steps", ()))
    ending = Ending(ended["ending"]) if "ending" in ended else None
    return RunPage(
        run=run,
        planner=run.planner_name or "the plan below",
        state=ENDINGS[ending] if ending else str(RunState(run.state).label),
        outcome=OUTCOMES[ending] if ending else "cancelled" if run.state == RunState.CANCELLED else "waiting",
        sentence=_sentence(run, seen=len(seen), steps=len(steps)),
        files=tuple(_shown(reading, name=name, artefact=file, alt=f"The file {name}") for name, file in given.items()),
        marks=tuple(_marked(marks, files=given)),
        pictures=tuple(
            Pointable(name, object_url(digest=artefact["digest"], split=""), _size(artefact))
            for name, artefact in (*given.items(), *((result["name"], result) for result in results))
            if artefact["type"] == ResourceType.IMAGE
        ),
        next_marks=_next_marks(run.marks),
        graph=_graph(plan, seen=seen, catalogue=catalogue, resources={n: file["type"] for n, file in given.items()}),
        steps=steps,
        answers=tuple(
            _shown(reading, name=result["name"], artefact=result, alt=f"The result {result['name']}")
            for result in results
        ),
        text=ended.get("text", ""),
        problems=tuple(ended.get("problems", ())),
        received=ended.get("received", ""),
        tolerated=tuple(planned.get("tolerated", ())),
        plan=json.dumps(plan, indent=2, ensure_ascii=False) if plan else "",
        alternatives=_alternatives(planned),
        seconds=planned.get("seconds") if planned and not planned.get("edited") else None,
        notes=json.dumps(planned["notes"], indent=2, ensure_ascii=False)[:6000] if planned.get("notes") else "",
        is_task=ending is Ending.MADE and bool(plan),
        results=tuple(result["name"] for result in results),
        events=len(events),
    )


def _size(artefact: Mapping[str, Any]) -> tuple[int, int] | None:
    return (artefact["size"][0], artefact["size"][1]) if "size" in artefact else None


def submit_address(run: Run, *, reader: Reader) -> str:
    """Address of the submit form with the planner of a run and its settings; empty if the reader may not know them.

    Secrets are not among them, and neither is what only its owner may read, for others.
    """
    planner = run.planner
    if planner is None:
        values = {"bundled_name": run.bundled_name, "name": run.bundled_name.replace("/", "-").replace(":", "-")}
        kind = next(name for name, one in KINDS.items() if any(field.name == "bundled_name" for field in one.fields))
    else:
        is_own = reader.is_authenticated and reader.pk == planner.owner_id
        fields = [field for field in kind_of(planner).fields if field.on_page and field.seen_by is not SeenBy.NOBODY]
        if not is_own and any(field.seen_by is SeenBy.OWNER for field in fields):
            return ""
        found = {field.name: getattr(planner, field.name, None) for field in fields}
        values = {name: str(value) for name, value in found.items() if isinstance(value, str | int) and value}
        values["name"] = planner.name
        kind = planner.kind
    address = reverse("planners:submit-kind", kwargs={"kind": kind})
    return f"{address}?{urlencode({**values, 'suites': run.suite})}"


def _alternatives(planned: Mapping[str, Any]) -> tuple[Alternative, ...]:
    """The further plans, with the scores of solutions of the same tools in the notes of the search."""
    scores = {
        tuple(solution["tools"]): float(solution["score"])
        for search in planned.get("notes", {}).get("search", ())
        for solution in search.get("candidates", ())
        if isinstance(solution.get("score"), int | float)
    }
    return tuple(
        Alternative(tools := tuple(step["tool"] for step in plan["steps"]), scores.get(tools), json.dumps(plan))
        for plan in planned.get("alternatives", ())
    )


def _next_marks(marks: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(mark["type"] for mark in marks)
    *others, last = (f"{kind}-{counts[kind.value] + 1}" for kind in MarkKind)
    return f"{', '.join(others)} or {last}"


def _marked(values: Mapping[str, Any], *, files: Mapping[str, Any]) -> Iterator[MarkedPicture]:
    """Each picture with its marks."""
    marks = given_marks(values)
    sizes = {mark.picture: values[name]["size"] for name, mark in marks.items()}
    for picture, size in sizes.items():
        url = object_url(digest=files[picture]["digest"], split="")
        yield marked(url=url, picture=picture, size=size, marks=marks)


def _catalogue(run: Run) -> Catalogue | None:
    try:
        return suite_of(run.suite).catalogue
    except LookupError:
        return None


def _sentence(run: Run, *, seen: int, steps: int) -> str:
    if run.state == RunState.CANCELLED:
        return run.reason or "It was cancelled."
    if run.state == RunState.WAITING:
        before, usual = place_of(run), usual_seconds()
        words = "It is next." if not before else f"{before} {'run is' if before == 1 else 'runs are'} before it."
        lately = "" if usual is None else f" A run took {max(1, round(usual))} s lately."
        return f"It waits for a worker. {words}{lately}"
    if run.state == RunState.RUNNING:
        if not steps:
            return "The planner is being asked."
        return f"{seen} of {steps} steps have ended."
    return ""


def _graph(
    plan: Mapping[str, Any], *, seen: Mapping[str, Any], catalogue: Catalogue | None, resources: Mapping[str, str]
) -> Graph | None:
    problems: dict[str | None, str] = {
        step: "failed" if body["kind"] == "step" else "skipped"
        for step, body in seen.items()
        if body["kind"] == "skipped" or body["error"]
    }
    graph = draw(
        plan=plan, catalogue=catalogue, resources=resources, marks=Marks(problems=problems), texts_inside=False
    )
    return graph if graph.nodes else None


def _step(step: Mapping[str, Any], *, seen: Mapping[str, Any], reading: Reading, catalogue: Catalogue | None) -> Step:
    body = seen.get(step["id"])
    if body is None or body["kind"] == "skipped":
        state, why = ("waits", "") if body is None else ("skipped", body["why"])
        return Step(step["id"], step["tool"], state, why, 0.0, "", (), ())
    state = "failed" if body["error"] else "stored" if body["cached"] else "done"
    inputs = {name: ArtefactReference(**artefact) for name, artefact in body["inputs"].items()}
    over = next((reference for reference in inputs.values() if reference.media_type == "image/png"), None)
    types = types_of(step["tool"], "outputs", catalogue=catalogue)
    outputs = tuple(
        reading.show_output(
            name=name, kind=types.get(name, ""), reference=ArtefactReference(**artefact), over=over,
            alt=f"{name} of {step['id']}",
        )
        for name, artefact in body["outputs"].items()
    )  # fmt: skip
    shown = tuple(
        reading.show(name=name, reference=reference, alt=f"{name}, input of {step['id']}")
        for name, reference in inputs.items()
    )
    return Step(
        step["id"], step["tool"], state, body["error"] or "", body["seconds"], body["expert"], shown, outputs
    )  # fmt: skip


def _shown(reading: Reading, *, name: str, artefact: Mapping[str, Any], alt: str) -> Shown:
    reference = ArtefactReference(digest=artefact["digest"], media_type=artefact["media_type"])
    return reading.show(name=name, reference=reference, alt=alt)
