"""The experts of `lumos-mini`: a reader for texts, and one that answers questions about pictures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite
from evaluator.episodes.base import Setting
from evaluator.lumos.answering import OF_OPENAGI, Answering, NoPictureError
from evaluator.lumos.mini.draws import Source
from evaluator.lumos.mini.scenes.questions import IMAGE, NOTICE, OTHER, given

if TYPE_CHECKING:
    from PIL.Image import Image


def mini_experts(*, source: Source, setting: Setting) -> Answering:
    """The experts of the setting's profile for the tasks of a split."""
    return Answering(setting, given=_Drawn(source), experts=OF_OPENAGI)


def not_run(*, experts: Answering, suite: Suite, profile: str) -> Mapping[str, tuple[Reason, str]]:
    """The tasks whose gold plan needs an expert that the profile lacks."""
    lacking = experts.lacking()
    if not lacking:
        return {}
    found: dict[str, tuple[Reason, str]] = {}
    for task in suite.tasks:
        needed = sorted({step.tool for step in task.gold.steps} & lacking) if task.gold else []
        if needed:
            found[task.key] = (Reason.NO_EXPERT, f"The profile {profile} has no expert for {', '.join(needed)}.")
    return found


class _Drawn:
    """What the tasks of a split are given: scenes and notices."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def picture(self, *, scope: str, name: str) -> "Image":
        """See `Given`."""
        from PIL import Image

        from evaluator.miniature.rendering import render
        from evaluator.miniature.scenes import Scene

        scene = self._given(scope).get(name)
        if not isinstance(scene, Scene):
            there = ", ".join(one for one in (IMAGE, OTHER) if one in self._given(scope)) or "none"
            raise NoPictureError(f"There is no picture {name[:100]!r}; there are: {there}.")
        return Image.fromarray(render(scene))

    def text(self, *, scope: str, name: str) -> str | None:
        """See `Given`: the notice, where the task has one."""
        found = self._given(scope).get(name) if name == NOTICE else None
        return found if isinstance(found, str) else None

    def _given(self, scope: str) -> Mapping[str, object]:
        kind, _, number = scope.partition(" ")
        return given(source=self._source, number=int(number)) if kind == "scenes" else {}
