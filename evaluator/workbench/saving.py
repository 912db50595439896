"""A run as files: the request, its events, its plan, its files and what the steps made."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evaluator.execution.engine import store
from evaluator.workbench.own_tasks import task_of_run

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_UNSAFE_IN_FILES = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST = 60

Fetch = Callable[[str], bytes | None]
"""The bytes of an artefact by its digest; None if they are lost."""


def named_artefacts(events: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Digests of the files, the outputs of steps and the results, by the path that each gets.

    Names of files and steps are those of strangers: no path leads out of the folder in which somebody writes it.
    """
    named: dict[str, str] = {}
    for event in events:
        if event["kind"] == "given":
            for name, file in event["files"].items():
                safe = _UNSAFE_IN_FILES.sub("_", name)[:_LONGEST].lstrip(".") or "file"
                named[f"files/{safe}"] = file["digest"]
        if event["kind"] == "step":
            for name, artefact in event["outputs"].items():
                step, output = (_UNSAFE.sub("_", part)[:_LONGEST] for part in (event["step"], name))
                named[f"steps/{step}-{output}.{ending_of(artefact)}"] = artefact["digest"]
        if event["kind"] == "ended":
            for number, artefact in enumerate(event.get("answers", ()), start=1):
                named[f"results/{number}.{ending_of(artefact)}"] = artefact["digest"]
    return named


def ending_of(artefact: Mapping[str, Any]) -> str:
    """The ending of a file with an artefact, such as `png`, `wav` or `txt`."""
    return store.ending_of(artefact["media_type"]).removeprefix(".")


def files_of_run(
    *, request: str, suite: str, events: Sequence[Mapping[str, Any]], fetch: Fetch
) -> Iterator[tuple[str, bytes]]:
    """Path and content of each file of a run; `PATH.missing` for what is lost.

    Args:
        request: in words.
        suite: slug of the suite whose tools it may call.
        events: of the run.
        fetch: reads artefacts.
    """
    yield "request.txt", request.encode()
    yield "events.jsonl", "".join(f"{json.dumps(event)}\n" for event in events).encode()
    plan = next((event["plan"] for event in events if event["kind"] == "plan" and "plan" in event), None)
    if plan is not None:
        yield "plan.json", json.dumps(plan, indent=2).encode()
    if (task := task_of_run(suite=suite, request=request, events=events)) is not None:
        yield "task.json", json.dumps(task, indent=2).encode()
    for path, digest in named_artefacts(events).items():
        data = fetch(digest)
        yield (path, data) if data is not None else (f"{path}.missing", b"The store has lost this file.")
