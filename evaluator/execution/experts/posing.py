"""Poses of stick figures with ViTPose."""

import torch
from PIL import Image as PillowImage
from torch import Tensor
from transformers import ViTImageProcessorPil, VitPoseForPoseEstimation

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image
from evaluator.execution.experts.imaging import Pixels, to_tensor
from evaluator.execution.experts.maps import MapExpert
from evaluator.execution.experts.preparation import Preparation
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.miniature.pictures.skeleton import Point, draw_skeleton
from evaluator.miniature.tableaux.records import Joint

CELL = 2
"""Pixels of a cell of a heat map."""


def places(maps: Tensor) -> Tensor:
    """x and y of each joint in pixels, (batch, joints, 2), from heat maps of shape (batch, joints, cells, cells).

    The mean of the distribution that a map describes: finer than its highest cell.
    """
    cells = torch.arange(maps.shape[-1], dtype=maps.dtype, device=maps.device) * CELL + (CELL - 1) / 2
    shares = maps.flatten(2).softmax(dim=-1).reshape(maps.shape)
    across = (shares.sum(dim=-2) * cells).sum(dim=-1)
    down = (shares.sum(dim=-1) * cells).sum(dim=-1)
    return torch.stack([across, down], dim=-1)


def presence(maps: Tensor) -> Tensor:
    """How surely there is a figure, as logits (batch,): the level of all heat maps, above 0 where there is one."""
    flat = maps.flatten(2)
    level = flat.logsumexp(dim=-1) - torch.log(torch.tensor(float(flat.shape[-1])))
    return level.mean(dim=1)


Pose = dict[Joint, Point] | None
"""Places of the joints as shares of the picture's width and height; None where there is no figure."""


class PoseExpert(MapExpert[Pose]):
    """Any image in, the skeleton of its stick figure out, on black; nothing but black where it sees no figure.

    Joints that something hides are guessed and drawn too.
    """

    output = "pose"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(
            VitPoseForPoseEstimation, folder=spec.path, device=device, precision=spec.precision
        )
        self._size = int(self._model.config.backbone_config.image_size[0])
        self._preparation = Preparation(ViTImageProcessorPil, folder=spec.path, size=self._size)

    def prepare(self, image: Image) -> Image:
        return self._preparation.resized(image)

    def find(self, pixels: Pixels) -> list[Pose]:
        with torch.inference_mode():
            values = self._preparation.normalised(to_tensor(pixels=pixels, device=self._device))
            maps = self._model(pixel_values=values.to(self._model.dtype)).heatmaps.float()
            shares = ((places(maps) + 0.5) / self._size).tolist()
            there = (presence(maps) > 0).tolist()
        return [self._pose(points) if seen else None for points, seen in zip(shares, there, strict=True)]

    def draw(self, *, found: Pose, size: tuple[int, int]) -> Image:
        if found is None:
            return PillowImage.new("RGB", size)
        width, height = size
        joints = {joint: (x * width - 0.5, y * height - 0.5) for joint, (x, y) in found.items()}
        return PillowImage.fromarray(draw_skeleton(joints=joints, size=size))

    @staticmethod
    def _pose(points: list[list[float]]) -> Pose:
        return {joint: (x, y) for joint, (x, y) in zip(Joint, points, strict=True)}
