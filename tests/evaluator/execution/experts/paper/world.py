"""The profile `paper` on small random checkpoints, fetched from a folder like a mirror of the hub."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import torch

from evaluator.execution.experts.fetching import Fetcher
from evaluator.execution.experts.profile import Profile, load_profile
from evaluator.execution.random_weights.building import checkpoints_of
from evaluator.execution.random_weights.building import small_profile as small
from tests.evaluator.execution.experts.paper.released import TOOL_BUILDERS, WIDTHS, save_edge_annotator
from tests.evaluator.execution.experts.released import BUILDERS, SINGLE_FILES, save_single_file

__all__ = ["fetch_checkpoints", "fetch_tools", "names_for", "small"]


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
    return [name for tool in tools for name in checkpoints_of(profile.experts[tool])]
