"""The profile `paper` on small random checkpoints, fetched from a folder like a mirror of the hub."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import torch

from evaluator.execution.experts.fetching import Fetcher
from evaluator.execution.experts.profile import NO_WEIGHTS, Profile, load_profile
from tests.evaluator.execution.experts.paper.released import TOOL_BUILDERS, WIDTHS, save_edge_annotator
from tests.evaluator.execution.experts.released import BUILDERS, SINGLE_FILES, save_single_file

_FEWER = {"steps": 2, "max_new_tokens": 6, "min_length": 4, "max_length": 12, "size": 64, "longest": 40, "grid": 4}
"""In the place of the profile's own numbers, which only cost time."""


def fetch_checkpoints(*, folder: Path, mirror: Path, names: Iterable[str]) -> None:
    """Fetch checkpoints of the profile from a mirror that is made for them."""
    checkpoints = load_profile("paper").checkpoints
    for name in dict.fromkeys(names):
        item, source = checkpoints[name], mirror / name
        torch.manual_seed(0)
        if name == "soft-edges":
            source.mkdir()
            save_edge_annotator(source / "ControlNetHED.pth")
            item = replace(item, sha256=None, config={"widths": WIDTHS})
        elif name in SINGLE_FILES:
            save_single_file(name, source / str(item.url).rpartition("/")[2])
            item = replace(item, sha256=None, config=SINGLE_FILES[name])
        else:
            {**BUILDERS, **TOOL_BUILDERS}[name](source / str(item.repo))
        Fetcher(folder=folder, mirror=source, report=lambda _: None).fetch(item)


def fetch_tools(*, folder: Path, mirror: Path, names: Iterable[str] = ()) -> None:
    """Fetch the checkpoints of ControlLLM's tools, and further ones by name."""
    fetch_checkpoints(folder=folder, mirror=mirror, names=[*TOOL_BUILDERS, *names, "soft-edges"])


def names_for(profile: Profile, tools: Iterable[str]) -> list[str]:
    """The names of the checkpoints that the experts of these tools need."""
    specs = [spec for tool in tools for spec in (profile.experts[tool], *profile.experts[tool].uses)]
    paths = [path for spec in specs for path in (spec.path, spec.base) if path is not None]
    return [path.name for path in paths if path.name != NO_WEIGHTS]


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
