"""Names of the things of a scene: class labels, object lists, colours, numbers."""

from evaluator.miniature.grammar.german import (
    Adjective,
    Article,
    Bilingual,
    Case,
    Gender,
    Noun,
    joined,
    noun_phrase,
    with_article,
)
from evaluator.miniature.scenes import Scene, SceneObject
from evaluator.miniature.vocabulary import Background, Colour, Shape

M, F, N = Gender.MASCULINE, Gender.FEMININE, Gender.NEUTER

SHAPES: dict[Shape, Noun] = {
    Shape.CIRCLE: Noun("circle", "Kreis", M),
    Shape.SQUARE: Noun("square", "Quadrat", N),
    Shape.TRIANGLE: Noun("triangle", "Dreieck", N),
    Shape.HEXAGON: Noun("hexagon", "Sechseck", N),
    Shape.STAR: Noun("star", "Stern", M),
    Shape.CROSS: Noun("cross", "Kreuz", N),
    Shape.RING: Noun("ring", "Ring", M),
    Shape.HEART: Noun("heart", "Herz", N, german_dative="Herzen"),
}
"""Shapes as nouns."""

COLOURS: dict[Colour, Adjective] = {
    Colour.BLUE: Adjective("blue", "blau"),
    Colour.PURPLE: Adjective("purple", "violett"),
    Colour.RED: Adjective("red", "rot"),
    Colour.GREEN: Adjective("green", "grün"),
    # Standard German does not inflect `orange` and `türkis`; before a noun it says `orangefarben`, `türkisfarben`.
    Colour.ORANGE: Adjective("orange", "orange", stem="orangefarben"),
    Colour.TURQUOISE: Adjective("turquoise", "türkis", stem="türkisfarben"),
    Colour.PINK: Adjective("pink", "rosa", inflected=False),
    Colour.YELLOW: Adjective("yellow", "gelb"),
}
"""Colours as adjectives."""

BACKGROUNDS: dict[Background, Adjective] = {
    Background.NIGHT: Adjective("dark blue", "dunkelblau"),
    Background.GRASS: Adjective("green", "grün"),
    Background.STONE: Adjective("grey", "grau"),
    Background.SKY: Adjective("light blue", "hellblau"),
    Background.SAND: Adjective("sandy", "sandfarben"),
}
"""Colours of backgrounds."""

BACKGROUND = Noun("background", "Hintergrund", M)

NUMBERS: tuple[Bilingual, ...] = tuple(
    Bilingual(english, german)
    for english, german in (
        ("zero", "null"),
        ("one", "eins"),
        ("two", "zwei"),
        ("three", "drei"),
        ("four", "vier"),
        ("five", "fünf"),
        ("six", "sechs"),
        ("seven", "sieben"),
        ("eight", "acht"),
    )
)
"""Cardinal numbers from 0."""


def label_of(*, colour: Colour, shape: Shape) -> Bilingual:
    """A class label, for example `red star` and `roter Stern`."""
    german = noun_phrase(noun=SHAPES[shape], case=Case.NOMINATIVE, adjective=COLOURS[colour])
    return Bilingual(f"{colour} {shape}", german)


def label(scene: Scene) -> Bilingual:
    """The class label of a scene."""
    return thing_name(scene.main)


def thing_name(thing: SceneObject) -> Bilingual:
    """The name of a thing, without an article."""
    return label_of(colour=thing.colour, shape=thing.shape)


def thing_phrase(thing: SceneObject, *, case: Case) -> Bilingual:
    """The name of a thing with the indefinite article; `case` is that of the German."""
    german = noun_phrase(
        noun=SHAPES[thing.shape], case=case, article=Article.INDEFINITE, adjective=COLOURS[thing.colour]
    )
    return Bilingual(with_article(thing.name), german)


def listed_things(scene: Scene) -> tuple[SceneObject, ...]:
    """The things in the order of object lists: the main object, then the others from left to right."""
    return (scene.main, *sorted(scene.things[1:], key=lambda thing: thing.x))


def object_names(scene: Scene) -> Bilingual:
    """All objects, separated by commas, for example `red star, blue ring`."""
    return joined((thing_name(thing) for thing in listed_things(scene)), separator=", ")
