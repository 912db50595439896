"""The experts of the miniature world under everyday names (`evaluator.miniature.roles`): the same weights, other words.

What they name gets the name that it plays, and texts are put into the world's words. Pictures are unchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.naming import is_named, words_of
from evaluator.core.values import Boxes, Image, Label, Labels, Masks, Value
from evaluator.execution.experts.clips import VideoCaptioningExpert, VideoClassificationExpert
from evaluator.execution.experts.detection import BoxesExpert
from evaluator.execution.experts.drawing import DrawingExpert, GuidedDrawingExpert
from evaluator.execution.experts.grounding import GroundingExpert
from evaluator.execution.experts.inputs import value_of
from evaluator.execution.experts.recognition import CaptioningExpert, ViTLabelsExpert
from evaluator.execution.experts.visual_questions import VisualQuestionExpert
from evaluator.miniature.roles import in_roles, in_world, label_of, motion_of, question_in_world, role_of, shown_name

Batch = Sequence[Mapping[str, Value]]


class CastLabels(ViTLabelsExpert):
    """From an image to the everyday names of its likely classes."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._names = {index: role_of(name) for index, name in self._names.items()}


class CastBoxes(BoxesExpert):
    """From an image to boxes with everyday names."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._names = {index: role_of(name) for index, name in self._names.items()}


class CastMotions(VideoClassificationExpert):
    """From a clip to the everyday names of the actions in it."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._names = {index: role_of(name) for index, name in self._names.items()}


class CastCaptions(CaptioningExpert):
    """From an image to a sentence with everyday names."""

    def run(self, batch: Batch) -> list[Mapping[str, Value]]:
        return _in_roles(super().run(batch))


class CastStories(VideoCaptioningExpert):
    """From a clip to a sentence with everyday names."""

    def run(self, batch: Batch) -> list[Mapping[str, Value]]:
        return _in_roles(super().run(batch))


class CastQuestions(VisualQuestionExpert):
    """From an image and a question with everyday names to a short answer."""

    def run(self, batch: Batch) -> list[Mapping[str, Value]]:
        return _in_roles(super().run(_translated(batch, name="text", change=question_in_world)))


class CastGrounding(GroundingExpert):
    """From an image and an everyday name to boxes with this name."""

    def run(self, batch: Batch) -> list[Mapping[str, Value]]:
        # An empty query stays, for the model's own message.
        found = super().run(
            _translated(batch, name="query", change=lambda query: label_of(query) if words_of(query) else query)
        )
        names = [shown_name(value_of(item, name="query", kind=str)) for item in batch]
        return [
            {"bbox": _renamed(value_of(result, name="bbox", kind=Boxes), name=name)}
            for result, name in zip(found, names, strict=True)
        ]


class CastDrawing(DrawingExpert):
    """From a text about everyday things to a picture of what plays them."""

    def read(self, item: Mapping[str, Value]) -> str:
        return in_world(super().read(item))


class CastGuidedDrawing(GuidedDrawingExpert):
    """From a text about everyday things and a map to a picture of what plays them."""

    def read(self, item: Mapping[str, Value]) -> tuple[str, Image]:
        text, drawn = super().read(item)
        return in_world(text), drawn


_LISTS: Mapping[str, tuple[type[Labels | Boxes | Masks], str]] = {
    "category_list": (Labels, "target_category_result"),
    "bbox_list": (Boxes, "result"),
    "mask_list": (Masks, "result"),
}


class CastSelection:
    """Keeps what plays the name in a condition, under this name.

    The parameter `list` is the name of the input with the findings. Conditions without another noun than thing, object
    or item keep everything.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:  # noqa: ARG002 - no device is needed
        """Raises ExpertError for an unknown `list`."""
        self._list = str(spec.parameters.get("list"))
        if self._list not in _LISTS:
            raise ExpertError(f'the parameter "list" of {spec.id} is one of {", ".join(_LISTS)}, not {self._list!r}')

    def run(self, batch: Batch) -> list[Mapping[str, Value]]:
        kind, output = _LISTS[self._list]
        return [
            {output: _selected(value_of(item, name=self._list, kind=kind), value_of(item, name="condition", kind=str))}
            for item in batch
        ]


def plays(name: str, *, condition: str) -> bool:
    """Whether a finding's name is played by what plays the name in a condition."""
    if not words_of(name) or not words_of(condition):
        return False
    # A motion's own action says that the finding is one of a clip.
    is_action = name == role_of(motion_of(name))
    alike = motion_of(name) is motion_of(condition) if is_action else label_of(name) == label_of(condition)
    return alike or is_named(name, condition=condition)


def _selected(found: Labels | Boxes | Masks, condition: str) -> Value:
    if is_named("thing", condition=condition):
        return found
    name = shown_name(condition)
    if isinstance(found, Labels):
        return Labels(tuple(_named(item, name) for item in found.items if plays(item.name, condition=condition)))
    if isinstance(found, Boxes):
        boxes = tuple(box for box in found.items if plays(box.label, condition=condition))
        return _renamed(replace(found, items=boxes), name=name)
    masks = tuple(replace(mask, label=name) for mask in found.items if plays(mask.label, condition=condition))
    return replace(found, items=masks)


def _named(label: Label, name: str) -> Label:
    return replace(label, name=name)


def _renamed(boxes: Boxes, *, name: str) -> Boxes:
    return replace(boxes, items=tuple(replace(box, label=name) for box in boxes.items))


def _in_roles(results: Batch) -> list[Mapping[str, Value]]:
    return [
        {name: in_roles(value) if isinstance(value, str) else value for name, value in result.items()}
        for result in results
    ]


def _translated(batch: Batch, *, name: str, change: Callable[[str], str]) -> list[Mapping[str, Value]]:
    return [{**item, name: change(value_of(item, name=name, kind=str))} for item in batch]
