import numpy as np
import pytest
import torch

from evaluator.experts.watching import CHANNELS, video_values
from evaluator.training.experts.tableaux.data import clips_at
from evaluator.training.experts.tableaux.motion import PATCHES, clip_labels
from evaluator.world.seeds import Split

pytestmark = pytest.mark.full

INDICES = np.arange(12)


def test_values_are_colours_and_where_and_when_a_pixel_is():
    frames = clips_at(split=Split.VALIDATION, indices=INDICES[:2]).frames
    values = video_values(frames)
    assert values.shape == (2, 8, CHANNELS, 64, 64)
    assert values.abs().max() <= 1
    assert torch.equal(values[1, 3, 3, 5], torch.linspace(-1, 1, 64))
    assert torch.equal(values[1, 3, 4, :, 5], torch.linspace(-1, 1, 64))
    assert torch.equal(values[1, :, 5, 2, 2], torch.linspace(-1, 1, 8))


def test_patches_that_show_the_mover_lie_where_its_track_says():
    wanted = clip_labels(split=Split.VALIDATION, indices=INDICES)
    assert wanted.shown.shape == (len(INDICES), PATCHES)
    for shown, track in zip(wanted.shown.reshape(-1, 4, 8, 8), wanted.track, strict=True):
        places = track[:24].reshape(8, 3)[:, :2] * 16 + 31.5
        for tubelet in range(4):
            rows, columns = torch.nonzero(shown[tubelet], as_tuple=True)
            centre = places[2 * tubelet : 2 * tubelet + 2].mean(dim=0)
            found = torch.stack([columns.float().mean(), rows.float().mean()]) * 8 + 3.5
            assert (found - centre).abs().max() < 5
