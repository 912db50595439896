"""A request that grows sentence by sentence: its words, files, wanted results and gold decomposition."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from evaluator.controlllm.toolbench.mini.gold import Gold
from evaluator.controlllm.toolbench.mini.sentences import Fill
from evaluator.controlllm.toolbench.world.contents import Demand, Given, Material, Sketch, Wanted
from evaluator.core.tools.types import ResourceType
from evaluator.miniature.grammar.german import english_article
from evaluator.miniature.grammar.labels import BACKGROUNDS
from evaluator.miniature.scenes import contrasts
from evaluator.miniature.tableaux.clips import Motion
from evaluator.miniature.vocabulary import Background, Colour, Direction, Shape

Item = TypeVar("Item")


@dataclass(slots=True)
class Draft:
    """A request so far."""

    gold: Gold = field(default_factory=Gold)
    given: dict[str, Given] = field(default_factory=dict)
    """By name of the file."""
    wanted: list[Wanted] = field(default_factory=list)

    def file(
        self,
        name: str,
        *,
        material: Material,
        demand: Demand | None = None,
        kind: ResourceType = ResourceType.IMAGE,
        **facts: object,
    ) -> None:
        """Give a file, or demand more of one that is given."""
        known = self.given.get(name)
        if known is None:
            demands = () if demand is None else (demand,)
            self.given[name] = Given(name=name, type=kind, material=material, demands=demands, **facts)  # type: ignore[arg-type]
        elif demand is not None and demand not in known.demands:
            self.given[name] = Given(
                name=name, type=known.type, material=known.material, demands=(*known.demands, demand)
            )


Sentence = Callable[[Fill, Draft], str]
"""Writes one sentence of a request, and adds to its draft."""


def thing_of(fill: Fill, *, least: int = 1, most: int = 1) -> Demand:
    """A thing with colour and shape."""
    return Demand(colour=colour_of(fill), shape=shape_of(fill), least=least, most=most)


def colour_of(fill: Fill) -> Colour:
    """A colour."""
    return fill.pick("colour", list(Colour))


def shape_of(fill: Fill) -> Shape:
    """A shape."""
    return fill.pick("shape", list(Shape))


def motion_of(fill: Fill) -> Motion:
    """A motion."""
    return fill.pick("motion", list(Motion))


def plural(name: str) -> str:
    """Several of a thing."""
    return f"{name}es" if name.endswith("s") else f"{name}s"


def with_article(name: str) -> str:
    """A thing with its indefinite article."""
    return f"{english_article(name)} {name}"


_BESIDE = {
    Direction.LEFT_OF: "to the left of",
    Direction.RIGHT_OF: "to the right of",
    Direction.ABOVE: "above",
    Direction.BELOW: "below",
}


def sketch_of(fill: Fill, *, of_figure: bool = False) -> Sketch:
    """A picture in the words of the grammar's captions."""
    background = fill.pick("background", list(Background))
    colours = [colour for colour in Colour if contrasts(colour=colour, background=background)]
    colour = fill.pick("colour", colours)
    where = f"on {with_article(BACKGROUNDS[background].english)} background"
    if of_figure:
        text = f"A {colour} figure is {where}.".replace("A orange", "An orange")
        return Sketch(background=background, colour=colour, shape=None, text=text)
    shape = fill.pick("shape", list(Shape))
    other_shape = fill.pick("other shape", [one for one in Shape if one is not shape])
    other_colour = fill.pick("other colour", colours)
    direction = fill.pick("direction", list(Direction))
    subject = with_article(f"{colour} {shape}")
    text = f"{subject} is {_BESIDE[direction]} {with_article(f'{other_colour} {other_shape}')} {where}."
    return Sketch(
        background=background, colour=colour, shape=shape, direction=direction, other_colour=other_colour,
        other_shape=other_shape, text=text[0].upper() + text[1:],
    )  # fmt: skip
