"""What OpenAGI knows of a request."""

from dataclasses import dataclass

from evaluator.canonical_json import JsonValue
from evaluator.suites.base import Task
from evaluator.suites.openagi.grammar import Base


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
    def attributes(self) -> dict[str, JsonValue]:
        return {
            "base": str(self.base),
            "degradations": [str(degradation) for degradation in self.degradations],
            "clozed": list(self.clozed),
            "language": self.language,
            "gold_steps": len(self.gold.steps) if self.gold is not None else None,
        }
