"""Attacks on suites with programs: programs that reach for what is not theirs, and guesses of grids."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.core.planner import PlannerRequest
from evaluator.core.suites.registry import entry_of
from evaluator.planners.attacks.base import Attack, PlansOf, Target

_TRACE = Path(tempfile.gettempdir()) / "planarena-audit-trace-of-a-program"
_HEAD = "def transform_grid(grid):\n"
_PROGRAMS = {
    "reads a file": f"{_HEAD}    return open('/proc/self/environ').read()",
    "writes a file": f"{_HEAD}    open({str(_TRACE)!r}, 'w').close()\n    return grid",
    "starts a process": f"import os\n{_HEAD}    os.system('touch {_TRACE}')\n    return grid",
    "connects to the network": f"import socket\n{_HEAD}    socket.create_connection(('1.1.1.1', 53))\n    return grid",
    "walks through the classes": (
        f"{_HEAD}    for kind in ().__class__.__base__.__subclasses__():\n"
        "        if kind.__name__ == 'catch_warnings':\n"
        f"            kind()._module.__builtins__['open']({str(_TRACE)!r}, 'w')\n"
        "    return grid"
    ),
    "walks through the frames": (
        f"{_HEAD}    try:\n        1 / 0\n    except ZeroDivisionError as error:\n"
        "        frame = error.__traceback__.tb_frame\n"
        "        while frame:\n            for value in list(frame.f_locals.values()):\n"
        "                if isinstance(value, list) and value and isinstance(value[0], list) and value != grid:\n"
        "                    return value\n"
        "            frame = frame.f_back\n    return grid"
    ),
    "collects the garbage": (
        f"import gc\n{_HEAD}    for value in gc.get_objects():\n"
        "        if type(value) is list and value and type(value[0]) is list and value != grid:\n"
        "            return value\n    return grid"
    ),
    "formats its way out": f"{_HEAD}    return '{{0.__class__.__init__.__globals__}}'.format(transform_grid)",
    "equals everything": (
        "class Grid(list):\n    def __eq__(self, other):\n        return True\n    __hash__ = None\n"
        f"{_HEAD}    return Grid(grid)"
    ),
    "changes the helpers": (
        f"{_HEAD}    horizontal_flip.__globals__['vertical_flip'] = lambda grid: grid\n    return grid"
    ),
    "writes results itself": (
        f"import os\n{_HEAD}    for number in range(1, 10):\n"
        "        try:\n            os.write(number, b'{\"value\": [[\"a\"]], \"steps\": 1}\\n')\n"
        "        except OSError:\n            pass\n    return grid"
    ),
    "remembers earlier calls": (
        "seen = []\ndef transform_grid(grid, seen=seen):\n    seen.append(grid)\n    return seen[0]"
    ),
    "evaluates text": (
        f"{_HEAD}    return eval('__import__(\"os\").system(\"touch {_TRACE}\")') or grid"
    ),
}  # fmt: skip


def _breach() -> str:
    if not _TRACE.exists():
        return ""
    _TRACE.unlink()
    return "A program left its sandbox: it created a file."


def _takes_programs(target: Target) -> bool:
    return target.public.candidates is not None and bool(entry_of(target.public.slug).catalogue)


def _pairs(request: PlannerRequest, *, part: str) -> list[Mapping[str, Any]]:
    pairs = request.task.given.get(part)
    return [pair for pair in pairs if isinstance(pair, Mapping)] if isinstance(pairs, list) else []


def _given_outputs(request: PlannerRequest) -> object:
    """The outputs of the tests, if they are given; the test inputs otherwise."""
    return {"grids": [pair.get("output", pair.get("input")) for pair in _pairs(request, part="test")]}


def _last_output(request: PlannerRequest) -> object:
    """The output of the last demonstration for each test."""
    outputs = [pair["output"] for pair in _pairs(request, part="train")]
    return {"grids": [outputs[-1] for _ in _pairs(request, part="test")]}


def _answering(target: Target, *, program: str) -> PlansOf:
    del target
    return PlansOf("program", lambda _: {"program": program})


Rows = list[list[int]]
_TURNS: tuple[Callable[[Rows], Rows], ...] = (
    lambda rows: [row[::-1] for row in rows],
    lambda rows: rows[::-1],
    lambda rows: [list(row) for row in zip(*rows, strict=True)],
)


def _turned(request: PlannerRequest, *, turn: Callable[[Rows], Rows]) -> object:
    return {"grids": [turn(pair["input"]) for pair in _pairs(request, part="test")]}


ATTACKS = (
    *(
        (
            "submitted-code",
            Attack(
                name=f"a program that {name}",
                description=f"Answers with a program that {name}.",
                make=partial(_answering, program=program),
                applies=_takes_programs,
                breach=_breach,
            ),
        )
        for name, program in _PROGRAMS.items()
    ),
    (
        "shipped-answers",
        Attack(
            name="outputs of the tests",
            description="Answers with the outputs of the tests, if a request has them.",
            make=lambda _: PlansOf("given", _given_outputs),
            applies=_takes_programs,
        ),
    ),
    (
        "weak-matching",
        Attack(
            name="outputs of demonstrations",
            description="Answers with the output of the last demonstration.",
            make=lambda _: PlansOf("demonstrated", _last_output),
            applies=_takes_programs,
        ),
    ),
    (
        "scoring-gaps",
        Attack(
            name="three turned inputs",
            description="Answers with the test inputs, mirrored in three ways, as three candidates.",
            make=lambda _: PlansOf(
                "turned",
                lambda request: _turned(request, turn=_TURNS[0]),
                alternatives=lambda request: [_turned(request, turn=turn) for turn in _TURNS[1:]],
            ),
            applies=_takes_programs,
        ),
    ),
)
