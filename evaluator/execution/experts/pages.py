"""The expert that makes a web page for a video, by a template in which all texts are escaped."""

from collections.abc import Mapping, Sequence

from PIL import Image as PillowImage

from evaluator.core.expert import ExpertSpec, InputError
from evaluator.core.values import Artefact, Clip, Labels, Value, encode
from evaluator.core.web_pages import page_of
from evaluator.execution.experts.inputs import value_of

_LARGEST_POSTER = 256 * 1024
"""Bytes. The poster of larger clips is their first frame."""
_POSTER_SIDE = 320


class VideoPage:
    """From a video with title, tags and description to a page that introduces it. The video's sound is left out."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        """Has no weights and needs no device."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [{"html_code": self._page(item)} for item in batch]

    @staticmethod
    def _page(item: Mapping[str, Value]) -> str:
        poster = _poster(value_of(item, name="video", kind=Clip))
        tags = [label.name for label in value_of(item, name="tags", kind=Labels).items]
        texts = {name: value_of(item, name=name, kind=str) for name in ("title", "description")}
        try:
            return page_of(tags=tags, picture=poster.data, media_type=poster.media_type.value, **texts)
        except ValueError as error:
            raise InputError(f"{error}: shorten title, tags or description") from None


def _poster(clip: Clip) -> Artefact:
    moving = encode(Clip(clip.frames))
    if len(moving.data) <= _LARGEST_POSTER:
        return moving
    first = PillowImage.fromarray(clip.frames[0])
    first.thumbnail((_POSTER_SIDE, _POSTER_SIDE))
    return encode(first)
