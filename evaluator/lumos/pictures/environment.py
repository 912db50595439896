"""Tools and scoring of multiple-choice questions about pictures."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evaluator.core import canonical_json
from evaluator.core.answers import without_typography
from evaluator.core.canonical_json import JsonValue
from evaluator.core.pictures import as_seen
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Call, Outcome, Refused, TurnScore
from evaluator.lumos.answering import LOOK, Answering, NoPictureError
from evaluator.lumos.mounted import Mounted
from evaluator.lumos.pictures.source import LETTERS
from evaluator.lumos.retrieval.environment import ANSWER
from evaluator.lumos.tasks import TurnTask

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURE = "IMG"
"""The name of a task's picture, as in LUMOS."""
PROFILE = "paper"
"""The only profile whose experts are trained on photographs."""
_RULES = 1
"""Version of results and scores; increase it when the same action or answer may yield a different one."""
_MOST_PIXELS = 50_000_000
_MOST_SHOWN = 2**18
"""Maximum number of pixels for experts: larger pictures are scaled down."""
_LETTER = re.compile(rf"\(?(?P<letter>[{LETTERS}])\)?(?:[.):,\s]|$)")


class _Photograph:
    """The named input of a task: its picture."""

    def __init__(self, mounted: Mounted) -> None:
        self._mounted = mounted

    def picture(self, *, scope: str, name: str) -> "Image":
        if name != PICTURE:
            raise NoPictureError(f"There is no picture {name[:100]!r}; there are: {PICTURE}.")
        from PIL import Image

        with Image.open(self._mounted.path(scope), formats=["JPEG", "PNG"]) as picture:
            if picture.width * picture.height > _MOST_PIXELS:
                raise ValueError(f"the picture {scope} has more than {_MOST_PIXELS} pixels")
            whole = as_seen(picture)
        scale = math.sqrt(_MOST_SHOWN / (whole.width * whole.height))
        if scale >= 1:
            return whole
        size = max(int(whole.width * scale), 1), max(int(whole.height * scale), 1)
        return whole.resize(size, Image.Resampling.BICUBIC)

    def text(self, *, scope: str, name: str) -> None:
        """See `Given`: there are no named texts."""
        del scope, name


class PictureEnvironment:
    """Not thread-safe."""

    def __init__(self, *, mounted: Mounted, data: str, setting: Setting) -> None:
        """Args:
        mounted: the operator's files.
        data: digest of the questions and the pictures.
        setting: profile and store of the experts.
        """
        self._data, self._profile = data, setting.profile
        self._experts = Answering(setting, given=_Photograph(mounted))

    def digest(self) -> str:
        return canonical_json.digest({"environment": "pictures", "rules": _RULES, "data": self._data})

    def not_run(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """See `Environment`: no task runs with experts that are not trained on photographs."""
        if self._profile == PROFILE and not self._experts.lacking():
            return {}
        message = (
            f"Questions about photographs need the experts of the profile {PROFILE}, not {self._profile or 'none'}."
        )
        return {task.key: (Reason.NO_EXPERT, message) for task in suite.tasks}

    def scope(self, task: Task) -> str:
        """See `Environment`: the path of the task's picture."""
        assert isinstance(task, TurnTask)
        return task.scope

    def offered(self, suite: Suite) -> frozenset[str]:
        return frozenset(suite.catalogue.tools) - self._experts.lacking()

    def source(self) -> str:
        return self._data

    def facts(self) -> dict[str, JsonValue]:
        return self._experts.facts()

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        places = [place for place, call in enumerate(calls) if call.tool in {LOOK, ANSWER}]
        outcomes = dict(zip(places, self._experts.run([calls[place] for place in places]), strict=True))
        return [
            outcomes.get(place)
            or Refused(ActionProblem.UNKNOWN_TOOL, f"There is no tool {call.tool!r}; there are {LOOK} and {ANSWER}.")
            for place, call in enumerate(calls)
        ]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """See `Environment`: 1 for the letter or the words of the right choice."""
        del transcript
        assert isinstance(task, TurnTask)
        choices = task.facts["choices"]
        assert isinstance(choices, list)
        right = float(letter_of(answer or "", choices=[str(choice) for choice in choices]) == task.answer)
        return TurnScore(score=right, indicators={"solved": right}, expected=task.answer)


def letter_of(answer: str, *, choices: Sequence[str]) -> str | None:
    """The letter of a choice that an answer names, by letter or by its words; None for other answers."""
    text = without_typography(answer)
    plain = text.rstrip(".").casefold()
    by_words = [letter for letter, choice in zip(LETTERS, choices, strict=False) if choice.strip().casefold() == plain]
    if len(by_words) == 1:
        return by_words[0]
    match = _LETTER.match(text.upper() if len(text) <= 3 else text)
    return match["letter"] if match and match["letter"] in LETTERS[: len(choices)] else None
