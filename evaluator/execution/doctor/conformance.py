"""Whether an expert does what the engine relies on: types, equal results, ends of a range, time and memory."""

import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image as PillowImage

from evaluator.core.expert import Expert, ExpertError, ExpertSpec
from evaluator.core.sounds import MOST_SAMPLES, Sound
from evaluator.core.tools.types import ResourceType, Tool
from evaluator.core.values import Boxes, Clip, Labels, Masks, Value, encode
from evaluator.execution.doctor.examining import Load, examine
from evaluator.execution.doctor.inputs import item_for, tool_named
from evaluator.execution.engine.frontier import CRASHES, run_padded
from evaluator.execution.experts.profile import load_expert

_KINDS: Mapping[ResourceType, type] = {
    ResourceType.VIDEO: Clip,
    ResourceType.AUDIO: Sound,
    ResourceType.BBOX: Boxes,
    ResourceType.MASK: Masks,
    ResourceType.CATEGORY: Labels,
    ResourceType.TAGS: Labels,
    **dict.fromkeys(
        (
            ResourceType.IMAGE, ResourceType.SEGMENTATION, ResourceType.EDGE, ResourceType.LINE, ResourceType.HED,
            ResourceType.SCRIBBLE, ResourceType.POSE, ResourceType.DEPTH, ResourceType.NORMAL,
        ),
        PillowImage.Image,
    ),
}  # fmt: skip
"""The class of a value by its type; all others are texts."""
_LONG = 20_000
"""Words of the longest text, more than any expert's model reads."""
_WIDE = (640, 8)
"""In pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str
    holds: bool
    detail: str
    """What was found: a measurement, or what is wrong."""


def conformance(
    *, spec: ExpertSpec, device: str, seconds: float, memory: int, load: Load = load_expert
) -> Iterator[Finding]:
    """Check an expert, in this process.

    Args:
        spec: its entry in the profile.
        device: torch device.
        seconds: longest time of a full batch.
        memory: most bytes by which this process may grow, on the CPU.
        load: loads an expert from `spec` and `device`.
    """
    before = _peak()
    try:
        tool = tool_named(spec.tool)
        expert = load(spec=spec, device=device)
        outputs = _run(expert, spec=spec, item=item_for(spec.tool, number=0))
    except CRASHES as error:
        yield Finding(check="loads and runs", holds=False, detail=f"{type(error).__name__}: {error}")
        return
    yield Finding(check="loads and runs", holds=True, detail=f"as {spec.code_version}")
    wrong = wrong_outputs(outputs, tool=tool)
    types = ", ".join(f"{name}: {kind}" for name, kind in tool.outputs.items())
    yield Finding(check="types of outputs", holds=not wrong, detail=wrong or types)
    if wrong:
        return
    examined = examine(spec=spec, device=device, with_cpu=False, load=load)
    for check, found, meaning in (
        ("repeatable", examined.repeatable, "two runs of a batch"),
        ("position in a batch", examined.position, "a batch and the same batch reversed"),
        ("company in a batch", examined.padding, "an item alone and in company"),
    ):
        words = {True: "give equal bytes", False: "differ", None: "were not compared: batches have one item"}[found]
        detail = f"{meaning} {words}"
        yield Finding(check=check, holds=found is not False and not examined.problem, detail=examined.problem or detail)
    for name, item in _odd_items(tool):
        fault = _fault_of(partial(_run, expert, spec=spec, item=item), tool=tool)
        yield Finding(check=f"odd input: {name}", holds=not fault, detail=fault or "a result, or a reason")
    took = examined.run_seconds or 0.0
    yield Finding(
        check="time", holds=took <= seconds, detail=f"{took:.2f} s for a batch of {examined.batch_size}, of {seconds:g}"
    )
    grown = _peak() - before
    yield Finding(
        check="memory", holds=grown <= memory, detail=f"{grown / 1e6:,.0f} MB more, of {memory / 1e6:,.0f}"
    )  # fmt: skip


def wrong_outputs(outputs: Mapping[str, object], *, tool: Tool) -> str:
    """What is wrong with an expert's outputs for an item, as a sentence; empty if nothing is."""
    if not isinstance(outputs, Mapping):
        return f"the result of an item is {type(outputs).__name__}, not a mapping of outputs"
    for name, kind in tool.outputs.items():
        wanted = _KINDS.get(kind, str)
        if name not in outputs:
            return f'there is no output "{name}"; {tool.name} returns {", ".join(tool.outputs)}'
        if not isinstance(outputs[name], wanted):
            return f'output "{name}" is {type(outputs[name]).__name__}; {kind} is {wanted.__name__}'
    return ""


def _run(expert: Expert, *, spec: ExpertSpec, item: Mapping[str, Value]) -> Mapping[str, Value]:
    (outputs,) = run_padded(expert=expert, spec=spec, size=spec.batch_size, items=[item], seeds=[0])
    return outputs


def _fault_of(run: Callable[[], Mapping[str, Value]], *, tool: Tool) -> str:
    """What an expert does wrong with an input that plans can produce; empty if it gives a result or says why not."""
    try:
        outputs = run()
        if wrong := wrong_outputs(outputs, tool=tool):
            return wrong
        for value in outputs.values():
            encode(value)
    except ExpertError:
        return ""
    except CRASHES as error:
        return f"{type(error).__name__}: {error}; raise InputError with a reason instead"
    return ""


def _odd_items(tool: Tool) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """Inputs at the ends of their range, each in the place of all usual ones of its type."""
    usual = item_for(tool.name, number=0)
    odd: tuple[tuple[str, type, Value], ...] = (
        ("an empty text", str, ""),
        ("a long text", str, "word " * _LONG),
        ("a text of signs", str, "\u0000\u202e😀\n<mask>"),
        ("a picture of one pixel", PillowImage.Image, PillowImage.new("RGB", (1, 1))),
        ("a flat picture", PillowImage.Image, PillowImage.new("RGB", _WIDE, "white")),
        ("a sound of one sample", Sound, Sound(np.zeros(1, dtype=np.int16))),
        ("a long silence", Sound, Sound(np.zeros(MOST_SAMPLES, dtype=np.int16))),
        ("no labels", Labels, Labels(())),
        ("no boxes", Boxes, Boxes((1, 1), ())),
        ("no masks", Masks, Masks((1, 1), ())),
    )
    for name, kind, value in odd:
        if any(isinstance(one, kind) for one in usual.values()):
            yield name, {key: value if isinstance(one, kind) else one for key, one in usual.items()}


def _peak() -> int:
    """Most memory that this process had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # In bytes on macOS, in KiB elsewhere.
    return peak if sys.platform == "darwin" else peak * 1024
