"""What a request's results are compared with: those of its gold plan, by kind of result. No numpy here."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.types import Catalogue, ResourceType
from evaluator.scoring.metrics import rule_names

REFERENCES_VERSION = "1"
"""Raised by hand whenever what a result is compared with changes; part of the digest of the data."""
VIT, BERT = "ViT", "BERT"
_BY_TYPE: Mapping[ResourceType, str] = MappingProxyType(
    {
        ResourceType.TEXT: BERT,
        ResourceType.IMAGE: VIT,
        ResourceType.CATEGORY: rule_names.LABELS,
        ResourceType.BBOX: rule_names.BOXES,
        ResourceType.MASK: rule_names.MASKS,
        ResourceType.SEGMENTATION: rule_names.SEGMENTS,
        ResourceType.DEPTH: rule_names.DEPTH,
        ResourceType.NORMAL: rule_names.NORMALS,
        **dict.fromkeys(
            # The skeletons of a pose are compared as strokes: their colours are not those of the miniature world.
            (ResourceType.EDGE, ResourceType.LINE, ResourceType.HED, ResourceType.SCRIBBLE, ResourceType.POSE),
            rule_names.OUTLINES,
        ),
    }
)
_COUNTING = frozenset({"count_objects", "count_masks", "count_categories"})
_EDITING = frozenset({"highlight_object_on_image", "mask_image", "image_inpainting"})
"""Tools that give a picture of the same size, of which most stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result of a gold plan."""

    metric: str
    """Name of the score with which another plan's result is compared with it."""
    type: ResourceType
    before: str = ""
    """For edits: the request's file that is changed. The score is the share of the change that was made."""


def results_of(*, gold: Plan, catalogue: Catalogue, files: Mapping[str, object]) -> tuple[Result, ...]:
    """The results of a gold plan, in the order of its answers.

    Raises:
        ValueError: an answer is made by no step, or has a type that no score compares.
    """
    makers = {reference: (step, name) for step in gold.steps for name, reference in step.outputs.items()}
    found = []
    for answer in gold.answers:
        if answer not in makers:
            raise ValueError(f"no step of the gold plan makes its answer {answer}")
        step, output = makers[answer]
        found.append(_result(step=step, type_=catalogue[step.tool].outputs[output], files=files))
    return tuple(found)


def _result(*, step: Step, type_: ResourceType, files: Mapping[str, object]) -> Result:
    if type_ not in _BY_TYPE:
        raise ValueError(f"there is no score for a result of type {type_}, which {step.tool} gives")
    source = step.inputs.get("image", "").removeprefix("$")
    if step.tool in _EDITING and source in files:
        return Result(metric=rule_names.EDIT, type=type_, before=source)
    return Result(metric=rule_names.ANSWER if step.tool in _COUNTING else _BY_TYPE[type_], type=type_)
