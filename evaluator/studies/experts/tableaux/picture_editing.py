"""Training of editing a picture by an instruction: InstructPix2Pix (Brooks et al., 2023)."""

from collections.abc import Mapping
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import CLIPTextModel

from evaluator.miniature.scenes import SIZE
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.tableaux.drawing import paint
from evaluator.miniature.tableaux.editing import Edit, draw_edit
from evaluator.studies.experts import contrastive, image_autoencoder, text_to_image
from evaluator.studies.experts.data.bank import Rows, normalised
from evaluator.studies.experts.tableaux.data import tableau
from evaluator.studies.experts.tableaux.guided_drawing import DrawingData, load_base, random_times, write_index

NAME = "picture-editing"
EDITS = 12_000
"""Number of training edits."""
FROZEN = "mid_block."
"""Part of the UNet that is frozen and not exported."""
_DROPPED = 0.05
"""Share of the edits each without the instruction, without the picture, and without either."""
_CHANGED = 4.0
"""Additional weight of the latents that change."""
_DIFFERENT = 16
"""Least difference of a pixel that has changed, in 8-bit levels."""


class PictureEditingModel(nn.Module):
    """The networks of an InstructPix2Pix. The autoencoder and the middle of the UNet are frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.vae = image_autoencoder.autoencoder().requires_grad_(False)
        self.text_encoder = CLIPTextModel(contrastive.text_config())
        self.unet = text_to_image.unet(in_channels=2 * image_autoencoder.CHANNELS)
        self.unet.mid_block.requires_grad_(False)


def build() -> nn.Module:
    """The model before training."""
    return PictureEditingModel()


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the shipped networks; the channels of the picture have no influence at first."""
    assert isinstance(model, PictureEditingModel)
    base = text_to_image.DrawingModel()
    load_base(base, weights=folders["weights"])
    model.vae.load_state_dict(base.vae.state_dict())
    model.text_encoder.load_state_dict(base.text_encoder.state_dict())
    state = base.unet.state_dict()
    own = state["conv_in.weight"]
    state["conv_in.weight"] = torch.cat([own, torch.zeros_like(own)], dim=1)
    model.unet.load_state_dict(state)


@cache
def edit_at(*, split: Split, index: int) -> Edit:
    """Edit number `index` of a split: of the first tableau from this number on that can be edited."""
    for number in count(index):
        rng = generator(split=split, index=number, purpose="edit")
        edit = draw_edit(tableau=tableau(split=split, index=number), rng=rng)
        if edit is not None:
            return edit
    raise AssertionError("unreachable")


class PictureEditingObjective:
    """Mean squared error of the velocity towards the edited picture, at a random time."""

    def __init__(self, *, weights: Path, batch: int = 16) -> None:
        self._data = DrawingData(weights=weights)
        self._batch = batch
        self._schedule = text_to_image.noise_schedule()
        self._rows: Rows | None = None

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, PictureEditingModel)
        indices = np.sort(rng.integers(EDITS, size=self._batch))
        before, clean, changed = self._latents(model).take(indices).astype(np.float32).transpose(1, 0, 2, 3, 4)
        tokens = self._data.tokens_of([edit_at(split=Split.TRAIN, index=int(index)).instruction for index in indices])
        lot = rng.random(self._batch)
        tokens[(lot < 2 * _DROPPED)] = self._data.tokens_of([""])
        before[(lot > _DROPPED) & (lot < 3 * _DROPPED)] = 0
        picture, target = torch.from_numpy(before), torch.from_numpy(clean)
        noise = torch.from_numpy(rng.standard_normal(clean.shape, dtype=np.float32))
        times = random_times(count=self._batch, rng=rng)
        text = model.text_encoder(input_ids=torch.from_numpy(tokens)).last_hidden_state
        noisy = torch.cat([self._schedule.add_noise(target, noise, times), picture], dim=1)
        velocity = model.unet(noisy, times, encoder_hidden_states=text).sample
        weights = 1 + _CHANGED * torch.from_numpy(changed[:, :1])
        error = (velocity - self._schedule.get_velocity(target, noise, times)).square()
        loss: Tensor = (error * weights / weights.mean()).mean()
        return loss

    def _latents(self, model: PictureEditingModel) -> Rows:
        """Latents before and after, and where pixels change, shape (edits, 3, 6, 16, 16)."""
        if self._rows is None:

            @torch.no_grad()
            def compute(new: npt.NDArray[np.int64]) -> npt.NDArray[np.float16]:
                edits = [edit_at(split=Split.TRAIN, index=int(index)) for index in new]
                before = np.stack([paint(edit.before).pixels for edit in edits])
                after = np.stack([paint(edit.after).pixels for edit in edits])
                latents = [model.vae.encode(normalised(pixels)).latent_dist.mean.numpy() for pixels in (before, after)]
                cells = np.broadcast_to(changed_cells(before=before, after=after)[:, None], latents[0].shape)
                return np.stack([*latents, cells], axis=1).astype(np.float16)

            self._rows = Rows(count=EDITS, compute=compute)
        return self._rows


def changed_cells(*, before: npt.NDArray[np.uint8], after: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Which latents cover pixels that change: (batch, 64, 64, 3) to (batch, 16, 16)."""
    pixels = np.abs(before.astype(np.int16) - after).max(axis=-1) > _DIFFERENT
    side = image_autoencoder.SIDE
    cells = pixels.reshape(len(pixels), side, SIZE // side, side, SIZE // side).any(axis=(2, 4))
    return np.asarray(cells)


def export(model: nn.Module, folder: Path) -> None:
    """Write the trained weights in half precision, and which Stable Diffusion has the rest."""
    assert isinstance(model, PictureEditingModel)
    for part, name in ((model.unet, "unet"), (model.text_encoder, "text_encoder")):
        (folder / name).mkdir(parents=True, exist_ok=True)
        state = {
            key: (value.to(torch.float16) if value.is_floating_point() else value).contiguous().clone()
            for key, value in part.state_dict().items()
            if not key.startswith(FROZEN)
        }
        save_file(state, folder / name / "model.safetensors", metadata={"format": "pt"})
    write_index(folder=folder, content={"unet_in_channels": 2 * image_autoencoder.CHANNELS})
