"""Builds checkpoints with random weights, and profiles on them.

They have the sizes and layouts of the released ones, so that loading, memory, speed and repeatability can be measured
without the hub. Results mean nothing, and digests of weights and profile differ from those of the released weights.
"""

import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors.torch import save_file
from transformers.utils import logging

from evaluator.core.expert import ExpertSpec
from evaluator.execution.experts.checkpoints import Checkpoint, Locked, read_lock, write_lock
from evaluator.execution.experts.colorizer import Colorizer, ColorizerConfig
from evaluator.execution.experts.devices import loading
from evaluator.execution.experts.profile import NO_WEIGHTS, Profile, load_profile
from evaluator.execution.experts.released_maps import EdgeAnnotator
from evaluator.execution.experts.restormer import Restormer, RestormerConfig
from evaluator.execution.experts.weights import known_digest, weights_files
from evaluator.execution.random_weights.networks import NETWORKS
from evaluator.execution.random_weights.pipelines import PIPELINES, controlnet
from evaluator.execution.random_weights.vocabularies import write_json

_HALVED = 350_000_000
"""Parameters from which a checkpoint is written in half precision, as large ones are released."""
_RESTORER = {"dim": 8, "num_blocks": [1, 1, 1, 1], "num_refinement_blocks": 1, "heads": [1, 2, 2, 4]}
_SMALL_FILES: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "denoising": _RESTORER,
        "deblurring": _RESTORER,
        "colorization": {"widths": [4, 8, 8, 16]},
        "soft-edges": {"widths": [4, 8, 8, 8, 8]},
    }
)
"""By the name of the checkpoint, what its configuration has in small."""
_FEWER: Mapping[str, int] = MappingProxyType(
    {
        "steps": 2, "max_new_tokens": 6, "min_length": 4, "max_length": 12, "size": 64, "longest": 40, "grid": 4,
        "frames": 3,
    }
)  # fmt: skip
"""In the place of the profile's parameters, which would only cost time."""
_SMALL_BATCH = 2


class Size(StrEnum):
    """The size of networks."""

    RELEASED = "released"
    """That of the released checkpoint."""
    SMALL = "small"
    """A few thousand parameters, for tests."""


def random_profile(
    name: str,
    *,
    folder: Path,
    tools: Iterable[str] | None = None,
    scorers: Iterable[str] | None = None,
    size: Size = Size.RELEASED,
    device: str = "cpu",
    report: Callable[[str], None] = lambda _: None,
) -> Profile:
    """A profile on checkpoints with random weights, which are built in a folder unless they are there.

    Args:
        name: of the profile. One whose weights are shipped is returned as it is.
        folder: of the checkpoints; never one with fetched weights.
        tools: build only the checkpoints of these tools; None: of all.
        scorers: build only the models of these scores; None: of all.
        size: small ones are for tests: `small_profile` is applied too.
        device: where weights are drawn. The released sizes take minutes on a CPU.
        report: receives the name of each checkpoint that is built.

    Raises:
        ProfileError: there is no such profile.
        ValueError: the folder has weights that are not random, or none can be built for a checkpoint.
    """
    profile = load_profile(name, weights=folder)
    if profile.checkpoints:
        specs = [profile.experts[tool] for tool in (profile.experts if tools is None else tools)]
        names = {name: None for spec in specs for name in checkpoints_of(spec)}
        names |= {profile.scorers[name].path.name: None for name in (profile.scorers if scorers is None else scorers)}
        items = [profile.checkpoints[name] for name in names]
        build_checkpoints(items, folder=folder, size=size, device=device, report=report)
        profile = load_profile(name, weights=folder)
    return small_profile(profile) if size is Size.SMALL else profile


def checkpoints_of(spec: ExpertSpec) -> list[str]:
    """The names of the checkpoints that an expert loads."""
    paths = [path for used in (spec, *spec.uses) for path in (used.path, used.base) if path is not None]
    return [path.name for path in paths if path.name != NO_WEIGHTS]


def small_profile(profile: Profile) -> Profile:
    """The profile with few steps, short answers and small batches, in single precision, which is faster on a CPU."""

    def small(spec: ExpertSpec) -> ExpertSpec:
        parameters = {name: _FEWER.get(name, value) for name, value in spec.parameters.items()}
        return replace(
            spec, batch_size=min(spec.batch_size, _SMALL_BATCH), batch_sizes={}, precision="float32",
            parameters=parameters,
            uses=tuple(replace(used, batch_size=_SMALL_BATCH, batch_sizes={}) for used in spec.uses),
        )  # fmt: skip

    return replace(profile, experts={tool: small(spec) for tool, spec in profile.experts.items()})


def build_checkpoints(
    items: Iterable[Checkpoint],
    *,
    folder: Path,
    size: Size = Size.RELEASED,
    device: str = "cpu",
    report: Callable[[str], None] = lambda _: None,
) -> None:
    """Build checkpoints with random weights in a folder, and enter them into its lock file. Those that are there stay.

    Args:
        items: of the profile `paper`.
        folder: of the checkpoints.
        size: of their networks.
        device: where weights are drawn. Equal devices draw equal weights.
        report: receives the name of each checkpoint that is built.

    Raises:
        ValueError: the folder has weights that are not random, or none can be built for a checkpoint.
    """
    logging.disable_progress_bar()
    revision = f"random-{size}"
    for item in items:
        locked = read_lock(folder)
        if (others := {entry.revision for entry in locked.values()} - {revision}) != set():
            raise ValueError(f"{folder} has weights of revision {min(others)}; random ones need a folder of their own")
        target = folder / item.name
        if item.name in locked and target.is_dir():
            continue
        report(item.name)
        shutil.rmtree(target, ignore_errors=True)
        with _drawing(item, device=device):
            _build(item, folder=target, size=size)
        entry = Locked(
            revision=revision, files=weights_files(target, digest_of=known_digest), source=item.source
        )  # fmt: skip
        write_lock(folder=folder, locked={**locked, item.name: entry})


def parameters_of(item: Checkpoint) -> int:
    """The number of parameters of a checkpoint at its released size. Takes no memory for them.

    Raises:
        ValueError: there is no builder for it.
    """
    with torch.device("meta"):
        return sum(
            parameter.numel() for network in _networks(item, size=Size.RELEASED) for parameter in network.parameters()
        )


@contextmanager
def _drawing(item: Checkpoint, *, device: str) -> Iterator[None]:
    """Fix torch's random numbers, device and type of new networks."""
    before = torch.get_default_dtype()
    # A CPU cannot draw all distributions in half precision.
    halved = item.values >= _HALVED and device != "cpu"
    forked = [device] if device != "cpu" else []
    with loading(), torch.random.fork_rng(devices=forked), torch.device(device):
        torch.manual_seed(zlib.crc32(item.name.encode()))
        torch.set_default_dtype(torch.float16 if halved else torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def _networks(item: Checkpoint, *, size: Size) -> Iterator[Any]:
    """The networks of a checkpoint, one after the other."""
    small = size is Size.SMALL
    if item.name in PIPELINES:
        yield from (part() for part in PIPELINES[item.name](small).parts.values())
    elif item.name.startswith("controlnet-"):
        yield controlnet(small)
    elif item.url is not None:
        yield _single_file(item.name, config=_config(item, size=size))
    elif item.name in NETWORKS:
        yield NETWORKS[item.name](small).model()
    else:
        raise ValueError(f'no random weights can be built for the checkpoint "{item.name}"')


def _build(item: Checkpoint, *, folder: Path, size: Size) -> None:
    small = size is Size.SMALL
    networks = (_in_precision(network, item=item) for network in _networks(item, size=size))
    if item.name in PIPELINES:
        pipeline = PIPELINES[item.name](small)
        for name, network in zip(pipeline.parts, networks, strict=True):
            network.save_pretrained(folder / name)
        pipeline.write(folder)
        return
    (network,) = networks
    if item.url is not None:
        config = _config(item, size=size)
        folder.mkdir(parents=True)
        state = {name: value.cpu().contiguous() for name, value in network.state_dict().items()}
        save_file(state, folder / "model.safetensors")
        write_json(folder / "config.json", config)
        return
    network.save_pretrained(folder)
    if item.name in NETWORKS:
        NETWORKS[item.name](small).files(folder)


def _in_precision(network: Any, *, item: Checkpoint) -> Any:
    return network.half() if item.values >= _HALVED else network


def _config(item: Checkpoint, *, size: Size) -> dict[str, Any]:
    return {**item.config, **(_SMALL_FILES.get(item.name, {}) if size is Size.SMALL else {})}


def _single_file(name: str, *, config: Mapping[str, Any]) -> Any:
    """The network of a checkpoint that is released as a file of parameters."""
    settings: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in config.items()
    }
    match name:
        case "colorization":
            return Colorizer(ColorizerConfig(**settings))
        case "soft-edges":
            return EdgeAnnotator(settings["widths"])
        case "denoising" | "deblurring":
            return Restormer(RestormerConfig(**settings))
    raise ValueError(f'no random weights can be built for the checkpoint "{name}"')
