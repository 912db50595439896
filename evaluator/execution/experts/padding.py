"""Padding images to the multiples that encoder-decoders and windows need."""

import torch.nn.functional as F
from torch import Tensor


def pad_to_multiple(images: Tensor, *, multiple: int) -> Tensor:
    """Pad (batch, channels, height, width) right and below until both sides are multiples.

    By reflection as in the released codes; images too small to reflect are continued by their edge.
    """
    height, width = images.shape[-2:]
    below, right = -height % multiple, -width % multiple
    if not below and not right:
        return images
    mode = "reflect" if below < height and right < width else "replicate"
    return F.pad(images, (0, right, 0, below), mode=mode)
