"""The profile `paper` on small random checkpoints, fetched from a folder like a mirror of the hub."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import torch

from evaluator.experts.fetching import Fetcher
from evaluator.experts.profile import Profile, load_profile
from tests.evaluator.experts.paper.released import TOOL_BUILDERS, WIDTHS, save_edge_annotator
from tests.evaluator.experts.released import BUILDERS

_FEWER = {"steps": 2, "max_new_tokens": 6, "min_length": 4, "max_length": 12, "size": 64, "longest": 40, "grid": 4}
"""In the place of the profile's own numbers, which only cost time."""


def fetch_tools(*, folder: Path, mirror: Path, names: Iterable[str] = ()) -> None:
    """Fetch the checkpoints of ControlLLM's tools, and further ones by name, from a mirror that is made for it."""
    checkpoints = load_profile("paper").checkpoints
    builders = {**TOOL_BUILDERS, **{name: BUILDERS[name] for name in names}}
    for name, build in builders.items():
        torch.manual_seed(0)
        build(mirror / name / str(checkpoints[name].repo))
        Fetcher(folder=folder, mirror=mirror / name, report=lambda _: None).fetch(checkpoints[name])
    save_edge_annotator(mirror / "ControlNetHED.pth")
    edges = replace(checkpoints["soft-edges"], sha256=None, config={"widths": WIDTHS})
    Fetcher(folder=folder, mirror=mirror, report=lambda _: None).fetch(edges)


def small(profile: Profile) -> Profile:
    """The profile with few steps and short answers, in single precision, which is faster on a processor."""
    experts = {
        tool: replace(
            spec, batch_size=min(spec.batch_size, 2), precision="float32",
            parameters={name: _FEWER.get(name, value) for name, value in spec.parameters.items()},
            uses=tuple(replace(used, batch_size=2) for used in spec.uses),
        )
        for tool, spec in profile.experts.items()
    }  # fmt: skip
    return replace(profile, experts=experts)
