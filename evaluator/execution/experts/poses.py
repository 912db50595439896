"""Poses with ViTPose: of stick figures, and of people from the profile's detector."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from PIL import Image as PillowImage
from PIL import ImageDraw
from torch import Tensor
from transformers import ViTImageProcessorPil, VitPoseForPoseEstimation

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.detection import Detection, DetrBoxesExpert
from evaluator.execution.experts.imaging import Pixels, image_of, in_fixed_batches, stack, to_tensor
from evaluator.execution.experts.implementations import implementation_of
from evaluator.execution.experts.inputs import number
from evaluator.execution.experts.maps import MapExpert
from evaluator.execution.experts.pretrained import Preparation, load_model
from evaluator.miniature.pictures.skeleton import Point, draw_skeleton
from evaluator.miniature.tableaux.records import Joint

CELL = 2
"""Side of a heat map's cell in pixels."""


def places(maps: Tensor) -> Tensor:
    """x and y of each joint in pixels, (batch, joints, 2), from heat maps of shape (batch, joints, cells, cells).

    The mean of a map's distribution, which has a finer resolution than its highest cell.
    """
    cells = torch.arange(maps.shape[-1], dtype=maps.dtype, device=maps.device) * CELL + (CELL - 1) / 2
    shares = maps.flatten(2).softmax(dim=-1).reshape(maps.shape)
    across = (shares.sum(dim=-2) * cells).sum(dim=-1)
    down = (shares.sum(dim=-1) * cells).sum(dim=-1)
    return torch.stack([across, down], dim=-1)


def presence(maps: Tensor) -> Tensor:
    """Logits of the presence of a figure, (batch,): the level of all heat maps, positive if there is one."""
    flat = maps.flatten(2)
    level = flat.logsumexp(dim=-1) - torch.log(torch.tensor(float(flat.shape[-1])))
    return level.mean(dim=1)


Pose = dict[Joint, Point] | None
"""Places of the joints as shares of the picture's width and height; None if there is no figure."""


class PoseExpert(MapExpert[Pose]):
    """From an image to the skeleton of its stick figure on black, if any. Hidden joints are estimated and drawn."""

    output = "pose"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(VitPoseForPoseEstimation, spec=spec, device=device)
        self._size = int(self._model.config.backbone_config.image_size[0])
        self._preparation = Preparation(ViTImageProcessorPil, folder=spec.path, size=self._size)

    def prepare(self, image: Image) -> Image:
        return self._preparation.resized(image)

    def find(self, pixels: Pixels) -> list[Pose]:
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            maps = self._model(pixel_values=values.to(self._model.dtype)).heatmaps.float()
            shares = ((places(maps) + 0.5) / self._size).tolist()
            visible = (presence(maps) > 0).tolist()
        return [
            {joint: (x, y) for joint, (x, y) in zip(Joint, points, strict=True)} if is_visible else None
            for points, is_visible in zip(shares, visible, strict=True)
        ]

    def draw(self, *, finding: Pose, size: tuple[int, int]) -> Image:
        if finding is None:
            return PillowImage.new("RGB", size)
        width, height = size
        joints = {joint: (x * width - 0.5, y * height - 0.5) for joint, (x, y) in finding.items()}
        return PillowImage.fromarray(draw_skeleton(joints=joints, size=size))


_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_ROOM = 1.25
"""Side of the model's crop, relative to the person's box."""
_MOST_PEOPLE = 20
_PERSON = "person"
_OF_COCO = (0, None, 6, 8, 10, 5, 7, 9, 12, 14, 16, 11, 13, 15, 2, 1, 4, 3)
"""For each joint of a drawing, its index among COCO's keypoints; the neck is between the shoulders."""
_NECK, _SHOULDERS = 1, (2, 5)
_LIMBS = (
    (1, 2), (1, 5), (2, 3), (3, 4), (5, 6), (6, 7), (1, 8), (8, 9), (9, 10), (1, 11), (11, 12), (12, 13), (1, 0),
    (0, 14), (14, 16), (0, 15), (15, 17),
)  # fmt: skip
_COLOURS = (
    (255, 0, 0), (255, 85, 0), (255, 170, 0), (255, 255, 0), (170, 255, 0), (85, 255, 0), (0, 255, 0), (0, 255, 85),
    (0, 255, 170), (0, 255, 255), (0, 170, 255), (0, 85, 255), (0, 0, 255), (85, 0, 255), (170, 0, 255),
    (255, 0, 255), (255, 0, 170), (255, 0, 85),
)  # fmt: skip
_LIMB_SHADE = 0.6
_RADIUS = 4
"""Radius of a joint, and half the width of a limb, in pixels of a picture whose shorter side has 512."""
_DRAWN_AT = 512

Joints = list[tuple[float, float] | None]
"""Places of the eighteen joints of a drawing in pixels; None for invisible ones."""


class PeopleExpert:
    """From an image to the skeletons of its people on black, if any.

    Includes joints with at least the score `threshold` of the profile's parameters.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        """Raises ExpertError if the profile's entry names no detector."""
        self.batch_size = spec.batch_size
        self._device = device
        self._model = load_model(VitPoseForPoseEstimation, spec=spec, device=device)
        height, width = self._model.config.backbone_config.image_size
        self._size = (int(width), int(height))
        self._threshold = number(spec=spec, name="threshold", default=0.3)
        if len(spec.uses) != 1:
            raise ExpertError(f'{spec.id} finds people with a detector: it needs "uses" with one tool')
        detector = implementation_of(spec.uses[0].implementation).factory()(spec=spec.uses[0], device=device)
        if not isinstance(detector, DetrBoxesExpert):
            raise ExpertError(f"{spec.id} finds people with a DETR, not with {spec.uses[0].implementation}")
        self._detector = detector

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        images = [image_of(item) for item in batch]
        detections = self._detector.detect_all([self._detector.prepare(image) for image in images])
        return [
            {"pose": drawing(self._people(image=image, objects=objects), size=image.size)}
            for image, objects in zip(images, detections, strict=True)
        ]

    def _people(self, *, image: Image, objects: Sequence[Detection]) -> list[Joints]:
        people = [detection for detection in objects if detection.name == _PERSON][:_MOST_PEOPLE]
        if not people:
            return []
        windows = []
        for person in people:
            # The crop in the model's proportions: left, top, right, bottom in pixels.
            left, right = person.box[0] * image.width, person.box[2] * image.width
            top, bottom = person.box[1] * image.height, person.box[3] * image.height
            width = max(right - left, (bottom - top) * self._size[0] / self._size[1], 1.0) * _ROOM
            height = width * self._size[1] / self._size[0]
            x, y = (left + right) / 2, (top + bottom) / 2
            windows.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
        crops = [
            image.transform(self._size, PillowImage.Transform.EXTENT, window, PillowImage.Resampling.BILINEAR)
            for window in windows
        ]
        heat = in_fixed_batches(pixels=stack(crops), batch_size=self.batch_size, run=self._heat)
        return [self._joints(maps, window=window) for maps, window in zip(heat, windows, strict=True)]

    def _heat(self, pixels: np.ndarray) -> list[np.ndarray]:
        """Heat maps of shape (keypoints, cells, cells) for each picture of a batch."""
        values = to_tensor(pixels=pixels, device=self._device)
        mean, deviation = (values.new_tensor(channel)[:, None, None] for channel in (_MEAN, _DEVIATION))
        with torch.inference_mode():
            maps = self._model(pixel_values=((values - mean) / deviation).to(self._model.dtype)).heatmaps
        return list(maps.float().cpu().numpy())

    def _joints(self, maps: np.ndarray, *, window: tuple[float, float, float, float]) -> Joints:
        keypoints: Joints = []
        for heat in maps:
            row, column = np.unravel_index(int(heat.argmax()), heat.shape)
            x = window[0] + (float(column) + 0.5) / heat.shape[1] * (window[2] - window[0])
            y = window[1] + (float(row) + 0.5) / heat.shape[0] * (window[3] - window[1])
            keypoints.append((x, y) if heat.max() >= self._threshold else None)
        joints = [None if place is None else keypoints[place] for place in _OF_COCO]
        left, right = (joints[k] for k in _SHOULDERS)
        joints[_NECK] = ((left[0] + right[0]) / 2, (left[1] + right[1]) / 2) if left and right else None
        return joints


def drawing(people: Sequence[Joints], *, size: tuple[int, int]) -> Image:
    """Skeletons on black: joints in bright colours on top of limbs in darker ones."""
    picture = PillowImage.new("RGB", size)
    pen = ImageDraw.Draw(picture)
    radius = max(1.0, _RADIUS * min(size) / _DRAWN_AT)
    for joints in people:
        for colour, (first, second) in zip(_COLOURS, _LIMBS, strict=False):
            ends = (joints[first], joints[second])
            if ends[0] is not None and ends[1] is not None:
                red, green, blue = (int(_LIMB_SHADE * level) for level in colour)
                pen.line((*ends[0], *ends[1]), fill=(red, green, blue), width=round(2 * radius))
    for joints in people:
        for colour, place in zip(_COLOURS, joints, strict=True):
            if place is not None:
                x, y = place
                pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    return picture
