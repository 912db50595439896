"""The devices on which the experts of an evaluation ran, from the provenance of its workers. Pure: no database.

Provenance comes from workers, and self-hosted ones may send anything: what is malformed is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

from evaluator.core import canonical_json

_LONGEST = 100
"""Characters of a name or version."""
_MOST_FACTS = 40
"""Properties of a device class, or packages; there are about ten."""


class Device(NamedTuple):
    """A device as boards and pages name it. Fields are empty if unknown."""

    kind: str
    """`cpu`, `cuda` or another type of torch devices."""
    name: str = ""
    """The card, or the processor's vendor."""
    driver: str = ""
    """Version of the card's driver."""
    cuda: str = ""
    """Version of CUDA that torch was built with."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{name: str(value.get(name, "")) for name in cls._fields})

    def to_json(self) -> dict[str, str]:
        """The known fields."""
        return {name: text for name, text in self._asdict().items() if text}

    @property
    def title(self) -> str:
        """The card, or `CPU` with its vendor."""
        if self.kind == "cpu":
            return f"CPU ({self.name})" if self.name else "CPU"
        return self.name or self.kind

    @property
    def versions(self) -> str:
        """Such as `driver 570.86.15, CUDA 12.8`; empty for a CPU."""
        words = (("driver", self.driver), ("CUDA", self.cuda))
        return ", ".join(f"{word} {version}" for word, version in words if version)

    def __str__(self) -> str:
        return f"{self.title}, {self.versions}" if self.versions else self.title


def devices_of(provenance: Mapping[str, Any]) -> tuple[Device, ...]:
    """The distinct devices of an evaluation's workers, sorted; without workers that named no device class."""
    return tuple(sorted({_device(facts, worker=worker) for worker, facts in _workers(provenance) if facts}))


def computing_classes_of(provenance: Mapping[str, Any]) -> frozenset[str]:
    """Distinct texts for all that the bytes of an evaluation's workers depend on besides its conditions: device class
    and versions of packages. `UNKNOWN_CLASS` for a worker that named no device class, and without workers."""
    classes = [
        canonical_json.dumps({"device": dict(facts), "packages": dict(_texts(worker.get("packages")))})
        if facts
        else UNKNOWN_CLASS
        for worker, facts in _workers(provenance)
    ]
    return frozenset(classes or [UNKNOWN_CLASS])


UNKNOWN_CLASS = ""


def _workers(provenance: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
    """Each worker with the properties of its device class; empty if it named none."""
    for worker in provenance.get("workers", ()):
        if isinstance(worker, dict):
            facts = _texts(worker.get("device_class"))
            yield worker, facts if "kind" in facts else {}


def _texts(value: object) -> Mapping[str, str]:
    """The texts of a mapping as a worker sent it; empty if it is none, or a large one."""
    if not isinstance(value, dict) or len(value) > _MOST_FACTS:
        return {}
    facts = {str(name)[:_LONGEST]: _text(fact) for name, fact in value.items()}
    return {name: fact for name, fact in facts.items() if fact}


def _device(facts: Mapping[str, str], *, worker: Mapping[str, Any]) -> Device:
    return Device(
        kind=facts["kind"],
        name=facts.get("card") or facts.get("vendor", ""),
        driver=_text(worker.get("driver")),
        cuda=facts.get("cuda", ""),
    )


def _text(value: object) -> str:
    return value[:_LONGEST] if isinstance(value, str) and value.isprintable() else ""
