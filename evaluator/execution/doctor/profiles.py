"""Examines the experts of a profile one after the other, on its weights or on random ones."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evaluator.core.expert import ExpertSpec
from evaluator.execution.doctor.examining import Examination, Further, Load, examine, shortened
from evaluator.execution.engine.pool import for_device
from evaluator.execution.experts.checkpoints import read_lock, write_lock
from evaluator.execution.experts.profile import NO_WEIGHTS, Profile, load_expert, load_profile
from evaluator.execution.random_weights.building import (
    Size,
    build_checkpoints,
    checkpoints_of,
    small_profile,
)


class Weights(Protocol):
    """Provides entries whose weights are there."""

    def provide(self, tool: str) -> ExpertSpec:
        """The entry of a tool, with its weights."""
        ...

    def release(self, *, needed: Sequence[str]) -> None:
        """Drop what only other tools than `needed` use."""
        ...


@dataclass(frozen=True, slots=True)
class OwnWeights:
    """The shipped or fetched weights of a profile."""

    profile: Profile

    def provide(self, tool: str) -> ExpertSpec:
        return self.profile.experts[tool]

    def release(self, *, needed: Sequence[str]) -> None:
        """Keeps them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomWeights:
    """Random weights, built for each tool and deleted when no other needs them: together they take 55 GB."""

    profile: Profile
    """Names the checkpoints."""
    folder: Path
    device: str
    size: Size = Size.RELEASED
    report: Callable[[str], None] = field(default=lambda _: None)
    keeps: Sequence[str] = ()
    """Tools whose checkpoints stay until the end."""

    def provide(self, tool: str) -> ExpertSpec:
        items = [self.profile.checkpoints[name] for name in checkpoints_of(self.profile.experts[tool])]
        build_checkpoints(items, folder=self.folder, size=self.size, device=self.device, report=self.report)
        profile = load_profile(self.profile.name, weights=self.folder)
        return (small_profile(profile) if self.size is Size.SMALL else profile).experts[tool]

    def release(self, *, needed: Sequence[str]) -> None:
        kept = {name for tool in (*needed, *self.keeps) for name in checkpoints_of(self.profile.experts[tool])}
        locked = read_lock(self.folder)
        write_lock(folder=self.folder, locked={name: entry for name, entry in locked.items() if name in kept})
        for name in locked.keys() - kept:
            shutil.rmtree(self.folder / name, ignore_errors=True)


def examine_profile(
    *,
    profile: Profile,
    weights: Weights,
    tools: Sequence[str],
    device: str,
    cpu_parameters: int = 0,
    seconds: float | None = None,
    shortens: bool = True,
    load: Load = load_expert,
    further: Further | None = None,
) -> Iterator[Examination]:
    """Examine the experts of tools, those with the fewest parameters first.

    Args:
        profile: the profile.
        weights: provides entries.
        tools: names of tools of the profile.
        device: torch device.
        cpu_parameters: experts with at most this many parameters are also run on a CPU.
        seconds: no further expert is begun after this time; the rest is reported as a problem.
        shortens: run with few steps and short answers.
        load: loads an expert.
        further: what else to measure of each; None: nothing.
    """
    began = time.monotonic()
    ordered = sorted(tools, key=lambda tool: (parameters(profile, tool=tool), tool))
    for number, tool in enumerate(ordered):
        spec = for_device(profile.experts[tool], device=device)
        if seconds is not None and time.monotonic() - began > seconds:
            problem = f"not examined within {seconds:.0f} seconds"
            yield Examination(tool=tool, expert=spec.id, batch_size=spec.batch_size, problem=problem)
            continue
        with_cpu = parameters(profile, tool=tool) <= cpu_parameters
        spec = weights.provide(tool)
        yield examine(
            spec=shortened(spec) if shortens else spec, device=device, with_cpu=with_cpu, load=load, further=further
        )
        weights.release(needed=ordered[number + 1 :])


def parameters(profile: Profile, *, tool: str) -> int:
    """Number of parameters of an expert with released weights; 0 for shipped ones, which are small."""
    return sum(
        profile.checkpoints[name].values
        for name in checkpoints_of(profile.experts[tool])
        if name in profile.checkpoints
    )


def tools_with_weights(profile: Profile) -> list[str]:
    """The tools whose experts load weights, themselves or through others. The rest works by rules."""
    return [
        tool
        for tool, spec in profile.experts.items()
        if any(used.weights_digest != NO_WEIGHTS for used in (spec, *spec.uses))
    ]
