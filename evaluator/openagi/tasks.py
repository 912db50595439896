"""What OpenAGI knows of a request."""

from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Task
from evaluator.openagi.grammar import CLOSED_BASES, Base


@dataclass(frozen=True, kw_only=True)
class OpenAGITask(Task):
    """A request of OpenAGI with what its text implies about the data."""

    base: Base
    degradations: tuple[str, ...]
    """Degradations of the image, in the order in which the gold plan undoes them."""
    clozed: tuple[str, ...]
    """Names of the resources that have a masked word."""
    language: str | None

    @property
    def kind(self) -> str:
        """See `Task`."""
        return answer_kind(base=self.base, language=self.language)

    @property
    def is_closed(self) -> bool:
        """See `Task`."""
        return self.base in CLOSED_BASES

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {
            "base": str(self.base),
            "degradations": [str(degradation) for degradation in self.degradations],
            "clozed": list(self.clozed),
            "language": self.language,
            "gold_steps": len(self.gold.steps) if self.gold is not None else None,
        }


def answer_kind(*, base: Base, language: str | None) -> str:
    """The domain task and the language of an answer, in words."""
    words = base.value.replace("_", " ")
    return words if language is None else f"{words} in {'German' if language == 'de' else 'English'}"
