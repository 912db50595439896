"""How much two stored outputs of an expert differ. Their bytes may be a stranger's."""

import io

from PIL import Image as PillowImage

from evaluator.core.records import ArtefactReference
from evaluator.core.values import PICTURES, Artefact, MediaType, Value, decode, encode
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError, Store
from evaluator.execution.experts.differences import difference

_MOST_PIXELS = {MediaType.PNG: 2**22, MediaType.CLIP: 2**18, MediaType.SOUNDING_CLIP: 2**18}
"""Of a picture, and of a frame of a clip: four times the sides of the largest input, and its sides."""
_UNREADABLE = (
    ObjectMissingError, ObjectDamagedError, ValueError, OSError, SyntaxError, PillowImage.DecompressionBombError
)  # fmt: skip
"""`SyntaxError` is what Pillow raises for broken chunks."""


def differ(first: ArtefactReference, second: ArtefactReference, *, store: Store) -> float | None:
    """How much two outputs differ, in [0, 1] (`difference`); None if their values are equal, such as one picture that
    two releases of an encoder wrote. 1 if one of them is missing, cannot be read, or is larger than any expert's."""
    if first.media_type != second.media_type:
        return 1.0
    try:
        one, other = (_value(reference, store=store) for reference in (first, second))
        return None if encode(one).data == encode(other).data else difference(one, other)
    except _UNREADABLE:
        return 1.0


def _value(reference: ArtefactReference, *, store: Store) -> Value:
    artefact = Artefact(data=store.get(reference.digest).data, media_type=MediaType(reference.media_type))
    if artefact.media_type in PICTURES:
        # Reads the header only.
        with PillowImage.open(io.BytesIO(artefact.data), formats=["PNG"]) as picture:
            width, height = picture.size
        if width * height > _MOST_PIXELS[artefact.media_type]:
            raise ValueError(f"a picture of {width}x{height} pixels is larger than any expert's")
    return decode(artefact)
