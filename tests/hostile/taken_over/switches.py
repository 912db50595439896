"""Starts model servers as the first line of a checkpoint's README asks for: `; without PART` of its sandbox, `; by` our
own namespaces instead of bubblewrap's, and `; within SECONDS` for a model that does nothing until it is killed.

For tests only: imported by `sitecustomize`, so only in processes that a test started with this folder on their path.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_jobs.model_server import opening, process
from gpu_jobs.model_server.client import DEADLINES
from gpu_jobs.model_server.isolation import sandbox
from gpu_jobs.model_server.isolation.confinement import Layer

EVERYTHING = "everything"
"""Without any layer: shows that the same code would read all secrets."""
_UNSHARE_ALL = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
                "--unshare-cgroup-try")  # fmt: skip
_PARTS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "own network": (["--unshare-net"], []),
    "own processes": (["--unshare-pid"], []),
    "own ipc": (["--unshare-ipc"], []),
    "own files": ([], ["--ro-bind", "/", "/host"]),
    "own proc": (["--proc", "/proc"], ["--ro-bind", "/proc", "/proc"]),
    "dropped capabilities": (["--cap-drop", "ALL"], []),
}
"""Options of bubblewrap to leave out, and to add instead, by what a server lacks then."""
_ELSEWHERE = ("empty environment", "closed descriptors")
_SWITCH = re.compile(r"; (without|by|within) ([a-z0-9 ]+)")
_off = ""


def switches(readme: Path) -> dict[str, str]:
    """What the first line asks for, by its first word."""
    try:
        with readme.open() as file:
            return dict(_SWITCH.findall(file.readline(200)))
    except (OSError, UnicodeDecodeError):
        return {}


def install() -> None:
    """From now on this process starts servers as their checkpoints ask for."""
    start, environment, bubblewrap = sandbox.Sandbox.start, sandbox._environment, sandbox._bubblewrap
    usual, open_model = process._start, opening.open_model

    def start_without(self: sandbox.Sandbox, *, folder: Path | None, device: str, memory_bytes: int) -> Any:
        global _off
        found = {} if folder is None else switches(folder / "README.md")
        _off = found.get("without", "")
        layers = layers_left(self.layers, off=_off, outer=found.get("by", ""))
        try:
            return start(replace(self, layers=layers), folder=folder, device=device, memory_bytes=memory_bytes)
        finally:
            _off = ""

    def environment_too(needed: Any) -> dict[str, str]:
        kept = dict(os.environ) if _off in {"empty environment", EVERYTHING} else {}
        return kept | environment(needed)

    def bubblewrap_without(*arguments: Any, **named: Any) -> list[str]:
        return without_part(bubblewrap(*arguments, **named), part=_off)

    def start_with_descriptors(command: Any, variables: Any, folder: Path, channel: Any) -> Any:
        if _off not in {"closed descriptors", EVERYTHING}:
            return usual(command, variables, folder, channel)
        return subprocess.Popen(
            list(command), stdin=channel.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=dict(variables), cwd=folder, start_new_session=True, close_fds=False,
        )  # fmt: skip

    def open_hastily(folder: Path, **named: Any) -> Any:
        seconds = switches(folder / "README.md").get("within")
        if seconds is not None:
            named["deadlines"] = replace(DEADLINES, load=float(seconds), answer=float(seconds), call=0.01)
        return open_model(folder, **named)

    opening.open_model = open_hastily
    sandbox.Sandbox.start = start_without  # type: ignore[method-assign]
    sandbox._environment = environment_too
    sandbox._bubblewrap = bubblewrap_without
    process._start = start_with_descriptors


def layers_left(layers: frozenset[Layer], *, off: str, outer: str) -> frozenset[Layer]:
    """The layers of this machine without one, and with another outer one."""
    if off == EVERYTHING:
        return frozenset()
    if outer == Layer.NAMESPACES:
        layers = layers - {Layer.BUBBLEWRAP} | {Layer.NAMESPACES}
    if off == "namespaces":
        # Without a file system of its own, another user would not reach the interpreter where that is root's.
        return frozenset(layer for layer in layers if not layer.isolates and layer is not Layer.OWN_USER)
    if off and off not in (*_PARTS, *_ELSEWHERE) and Layer(off) not in layers:
        raise ValueError(f"this machine has no layer {off!r}")
    return frozenset(layer for layer in layers if layer != off)


def without_part(command: Sequence[str], *, part: str) -> list[str]:
    """A command of bubblewrap without one of its parts."""
    found: list[str] = []
    for word in command:
        found += _UNSHARE_ALL if word == "--unshare-all" else [word]
    left_out, instead = _PARTS.get(part, ([], []))
    if left_out:
        at = next(at for at in range(len(found)) if found[at : at + len(left_out)] == list(left_out))
        found[at : at + len(left_out)] = instead
    elif instead:
        at = found.index("--remount-ro")
        found[at:at] = instead
    return found
