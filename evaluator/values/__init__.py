"""The values that flow between experts: pictures, texts, clips, and what was found in a picture.

An *artefact* is the stored form of a value: bytes with a media type, named by the SHA-256 of the bytes.
"""

from evaluator.values.coding import (
    PICTURES,
    Artefact,
    MediaType,
    Value,
    array_to_image,
    decode,
    encode,
    image_to_array,
)
from evaluator.values.findings import Box, Boxes, FindingError, Label, Labels, Mask, Masks, boxes_of
from evaluator.values.pictures import Clip, Image

__all__ = [
    "PICTURES",
    "Artefact",
    "Box",
    "Boxes",
    "Clip",
    "FindingError",
    "Image",
    "Label",
    "Labels",
    "Mask",
    "Masks",
    "MediaType",
    "Value",
    "array_to_image",
    "boxes_of",
    "decode",
    "encode",
    "image_to_array",
]
