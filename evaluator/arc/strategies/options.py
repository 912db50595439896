"""How many programs the system samples, from whom, and how they are asked:
`arc-experts@views=objects,pixels;samples=1:MODEL`, `arc-single:objects;style=compact:MODEL`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluator.arc.strategies.agents import AGENTS, Agent, agent_named, agents_named
from evaluator.arc.strategies.styles import PAPER, STYLES, Style

MOST_SAMPLES, MOST_LOOPS, MOST_SEED = 16, 8, 1 << 31
_HOTTEST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The paper's, unless something else is said."""

    agents: Sequence[Agent] = AGENTS
    samples: int = 3
    """Of each agent."""
    loops: int = 3
    """Replies of each sample, the first included."""
    temperature: float = 0.7
    seed: int = 0
    """Of what is sampled, and of the choice among programs that fit."""
    style: Style = PAPER


def options_of(text: str) -> Options:
    """Options as `NAME=VALUE`, with semicolons between.

    Raises:
        ValueError: there is no such option, or its value is wrong.
    """
    found: dict[str, Any] = {}
    for part in filter(None, (one.strip() for one in text.split(";"))):
        name, equals, value = part.partition("=")
        if not equals or name not in _READ or _READ[name][0] in found:
            raise ValueError(f"{part!r} is no option, or stands twice; write {'; '.join(_FORMS.values())}")
        field, read = _READ[name]
        found[field] = read(name, value.strip())
    if "style" in found:
        found.setdefault("agents", found["style"].agents)
    return replace(Options(), **found)


def options_of_one(text: str) -> Options:
    """Options of one agent: its name, and what else is said behind semicolons.

    Raises:
        ValueError: there is no such agent or option, or its value is wrong.
    """
    name, _, others = text.partition(";")
    agent = agent_named(name)
    if any(one.partition("=")[0].strip() == "views" for one in others.split(";")):
        raise ValueError(f"the view is {name} already; leave views= out")
    return replace(options_of(others), agents=(agent,))


def _agents(name: str, value: str) -> Sequence[Agent]:
    del name
    return agents_named(value)


def _style(name: str, value: str) -> Style:
    if value not in STYLES:
        raise ValueError(f"{name} is {value!r}: it must be {' or '.join(STYLES)}")
    return STYLES[value]


def _whole(most: int, *, least: int = 1) -> Any:
    def read(name: str, value: str) -> int:
        if not (value.isascii() and value.isdecimal()) or not least <= int(value) <= most:
            raise ValueError(f"{name} is {value!r}: it must be a whole number from {least} to {most}")
        return int(value)

    return read


def _temperature(name: str, value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if not 0 <= found <= _HOTTEST:
        raise ValueError(f"{name} is {value!r}: it must be a number from 0 to {_HOTTEST:g}")
    return found


_READ: Mapping[str, tuple[str, Any]] = {
    "views": ("agents", _agents),
    "samples": ("samples", _whole(MOST_SAMPLES)),
    "loops": ("loops", _whole(MOST_LOOPS)),
    "temperature": ("temperature", _temperature),
    "seed": ("seed", _whole(MOST_SEED, least=0)),
    "style": ("style", _style),
}
_FORMS = {
    "views": "views=objects,objects_diag+pixels",
    "samples": "samples=3",
    "loops": "loops=3",
    "temperature": "temperature=0.7",
    "seed": "seed=0",
    "style": "style=compact",
}
