"""Do names of files and results earn points, or reach what is not the planner's?"""

import socket
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.core.planner import PlannerRequest
from evaluator.planners.attacks.base import Attack, Flaw, PlansOf, Target, on_whole_plans
from evaluator.planners.attacks.public_plans import MostFrequent
from evaluator.studies.audit.classes.scoring_gaps import Guesses

_TRACE = Path(tempfile.gettempdir()) / "planarena-audit-trace-of-a-name"
_GUESSES = 6
_PLACES = (
    "/etc/passwd", "../../../../../../etc/passwd", "file:///proc/self/environ", "s3://store/gold", "~/.ssh/id_rsa",
    "gold", "expected", "reference",
)  # fmt: skip
_NAMES = {
    "with 5,000 characters": "n" * 5000,
    "of another script": "\u202etxt.dlog\u200b",
    "with a null character": "a\x00b",
    "like a path out of the folder": f"../../../../../../..{_TRACE}",
    "like an absolute path": str(_TRACE),
    "like a field of results": "__class__",
    "like a number": "0",
}


def _breach_of_files() -> str:
    """Whether a file was made at the place that a name gives; it is removed."""
    if not _TRACE.exists():
        return ""
    _TRACE.unlink()
    return "A result was written to the path that a plan gave as its name."


class _Listener:
    """A port of this machine that plans name in addresses."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    def port(self) -> int:
        """The open port."""
        if self._socket is None:
            self._socket = socket.create_server(("127.0.0.1", 0))
            self._socket.setblocking(False)
        return int(self._socket.getsockname()[1])

    def breach(self) -> str:
        """Whether anybody connected; the port is closed."""
        if self._socket is None:
            return ""
        with self._socket as opened:
            self._socket = None
            try:
                opened.accept()[0].close()
            except BlockingIOError:
                return ""
        return "The address that a plan gave as the name of a file was opened."


_listener = _Listener()


def _named(plan: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """A plan with other names of results."""

    def moved(values: dict[str, str]) -> dict[str, str]:
        return {slot: names.get(value, value) for slot, value in values.items()}

    return {
        "steps": [
            {**step, "inputs": moved(step["inputs"]), "outputs": moved(step["outputs"])} for step in plan["steps"]
        ],
        "answers": [names.get(answer, answer) for answer in plan["answers"]],
    }


def _results(plan: dict[str, Any]) -> list[str]:
    return [name for step in plan["steps"] for name in step["outputs"].values()]


def _all_named(target: Target, *, name: str) -> PlansOf:
    """The most frequent plan with a name, and a number from the second on, for each of its results."""
    most_frequent = MostFrequent(target.public.tasks)

    def plan(request: PlannerRequest) -> object:
        found = most_frequent(request)
        return _named(
            found, {own: f"{name}{number or ''}" for number, own in enumerate(dict.fromkeys(_results(found)))}
        )

    return PlansOf("named", plan)


def _like_files(target: Target) -> PlansOf:
    """The most frequent plan, whose results have the names of the request's files."""
    most_frequent = MostFrequent(target.public.tasks)

    def plan(request: PlannerRequest) -> object:
        found, files = most_frequent(request), list(request.task.resources)
        return _named(found, dict(zip(_results(found), files, strict=False)))

    return PlansOf("like files", plan)


def _one_name(target: Target) -> PlansOf:
    """Several likely plans whose last results all have the same name, which is the answer."""
    guesses = Guesses(target, count=_GUESSES)

    def plan(request: PlannerRequest) -> object:
        found: Any = guesses(request)
        answers = [answer for answer in found["answers"] if not answer.startswith("$")]
        return {**_named(found, dict.fromkeys(answers, "result")), "answers": ["result"]}

    return PlansOf("one name", plan)


def _reaching(request: PlannerRequest, *, places: Callable[[], tuple[str, ...]]) -> object:
    """Each tool with a file as if it were an input of the request, until the places run out."""
    steps: list[dict[str, Any]] = []
    for number, (place, tool) in enumerate(zip(places(), request.tools, strict=False)):
        outputs = {name: f"s{number}.{name}" for name in tool.outputs}
        steps.append(
            {"id": f"s{number}", "tool": tool.name, "inputs": dict.fromkeys(tool.inputs, place), "outputs": outputs}
        )
    wanted = request.expects.type
    kinds = {
        f"s{number}.{name}": kind for number, tool in enumerate(request.tools) for name, kind in tool.outputs.items()
    }
    made = [name for step in steps for name in step["outputs"].values()]
    return {"steps": steps, "answers": [name for name in made if wanted in (None, kinds[name])][:1] or made[:1]}


def _addresses() -> tuple[str, ...]:
    address = f"http://127.0.0.1:{_listener.port()}/gold.png"
    return address, f"${address}", f"![]({address})"


def _as_answers(places: tuple[str, ...], request: PlannerRequest) -> object:
    return {"steps": [], "answers": [places[len(request.task.request) % len(places)]]}


FLAW = Flaw(
    name="names",
    title="Names of files and results",
    description="Do names of files and results earn points, or reach what is not the planner's?",
    attacks=(
        *(
            Attack(
                name=f"names {words}",
                description=f"Gives the results of the most frequent plan names {words}.",
                make=partial(_all_named, name=name),
                applies=on_whole_plans,
                breach=_breach_of_files,
            )
            for words, name in _NAMES.items()
        ),
        Attack(
            name="results named like files",
            description="Gives the results of the most frequent plan the names of the request's files.",
            make=_like_files,
            applies=on_whole_plans,
        ),
        Attack(
            name="one name for several results",
            description=f"Puts {_GUESSES} likely plans into one and gives all their answers one name.",
            make=_one_name,
            applies=on_whole_plans,
        ),
        Attack(
            name="files of the machine",
            description="Gives tools paths of files that no request has.",
            make=lambda _: PlansOf(
                "paths", partial(_reaching, places=lambda: (*_PLACES, *(f"${place}" for place in _PLACES)))
            ),
            applies=on_whole_plans,
        ),
        Attack(
            name="addresses as files",
            description="Gives tools an address of this machine as a file.",
            make=lambda _: PlansOf("addresses", partial(_reaching, places=_addresses)),
            applies=on_whole_plans,
            breach=_listener.breach,
        ),
        Attack(
            name="named gold plans",
            description="Answers with names that a judge may use for what it expects.",
            make=lambda _: PlansOf(
                "gold", partial(_as_answers, ("$gold", "$reference", "$expected", "gold", "expected", "answer"))
            ),
            applies=on_whole_plans,
        ),
    ),
)
