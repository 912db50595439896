"""The databases: a market, a gallery and a post office, with other rows in each town."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from evaluator.lumos.mini.draws import Source
from evaluator.lumos.sql.dump import Database, Row
from evaluator.lumos.sql.schema import Column, Kind, Schema, Table
from evaluator.miniature.draws import one_of
from evaluator.miniature.grammar.words import BELONGINGS, DAYS, PEOPLE, PLACES
from evaluator.miniature.vocabulary import Background, Colour, Shape

if TYPE_CHECKING:
    import numpy as np

FAMILIES = ("market", "gallery", "post")
DATABASES = 6
"""For every so many tasks: two of each family."""
_TASKS = 600
TOWNS = ("Alder", "Birchfield", "Cedarbrook", "Dunmoor", "Elmstead", "Farnley", "Greyport", "Hillbury")
REGIONS = ("north", "south", "east", "west")
SIZES = ("small", "medium", "large")
GOODS = ("food", "clothing", "furniture", "tool")
_TYPES = {Kind.INTEGER: "int(11)", Kind.TEXT: "varchar(80)"}


def number_for(index: int) -> int:
    """Which database a task is about."""
    return index % DATABASES + DATABASES * (index // _TASKS)


def databases_for(tasks: int) -> int:
    """How many databases so many tasks are about."""
    return DATABASES * (1 + (tasks - 1) // _TASKS)


def family_of(number: int) -> str:
    """What the database with this number is about."""
    return FAMILIES[number % len(FAMILIES)]


def name_of(number: int) -> str:
    """The name of the database with this number, such as `market_0`."""
    return f"{family_of(number)}_{number // len(FAMILIES)}"


@lru_cache(maxsize=64)
def database(*, source: Source, number: int) -> Database:
    """The database with this number."""
    rows = _ROWS[family_of(number)](source.stream("database", number))
    tables = _TABLES[family_of(number)]
    return Database(schema=Schema(name=name_of(number), tables={one.name: one for one in tables}), rows=rows)


def _table(name: str, /, **columns: Kind) -> Table:
    made = tuple(
        Column(name=column, type=_TYPES[kind], kind=kind, is_nullable=place > 0, default=None)
        for place, (column, kind) in enumerate(columns.items())
    )
    inner = ", ".join(f"`{one.name}` {one.type}" for one in made)
    key = made[0].name
    return Table(
        name=name, columns=made, primary_key=(key,), unique_keys=(), keys=(),
        statement=f"CREATE TABLE `{name}` ({inner}, PRIMARY KEY (`{key}`))",
    )  # fmt: skip


_NUMBER, _TEXT = Kind.INTEGER, Kind.TEXT
_TABLES: dict[str, tuple[Table, ...]] = {
    "market": (
        _table("people", person_id=_NUMBER, name=_TEXT, trade=_TEXT, age=_NUMBER, town=_TEXT),
        _table("things", thing_id=_NUMBER, name=_TEXT, kind=_TEXT, price=_NUMBER),
        _table("sales", sale_id=_NUMBER, person_id=_NUMBER, thing_id=_NUMBER, place=_TEXT, day=_TEXT, amount=_NUMBER),
    ),
    "gallery": (
        _table("pictures", picture_id=_NUMBER, title=_TEXT, background=_TEXT, year=_NUMBER, painter=_TEXT),
        _table("objects", object_id=_NUMBER, picture_id=_NUMBER, shape=_TEXT, colour=_TEXT, size=_TEXT),
    ),
    "post": (
        _table("towns", town_id=_NUMBER, name=_TEXT, region=_TEXT, population=_NUMBER),
        _table("letters", letter_id=_NUMBER, from_town=_NUMBER, to_town=_NUMBER, weight=_NUMBER, day=_TEXT),
    ),
}


def _number(rng: "np.random.Generator", low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def _market(rng: "np.random.Generator") -> dict[str, list[Row]]:
    people: list[Row] = [
        (place, one.name, one.trade, _number(rng, 18, 80), one_of(rng, TOWNS)) for place, one in enumerate(PEOPLE, 1)
    ]
    things: list[Row] = [
        (place, one.noun.english, one_of(rng, GOODS), _number(rng, 1, 40)) for place, one in enumerate(BELONGINGS, 1)
    ]
    sales: list[Row] = [
        (
            place, _number(rng, 1, len(people)), _number(rng, 1, len(things)),
            one_of(rng, PLACES[:6]).thing.noun.english, one_of(rng, DAYS).english, _number(rng, 1, 9),
        )
        for place in range(1, 61)
    ]  # fmt: skip
    return {"people": people, "things": things, "sales": sales}


def _gallery(rng: "np.random.Generator") -> dict[str, list[Row]]:
    pictures: list[Row] = [
        (
            place, f"{one_of(rng, TOWNS)} at {one_of(rng, ('dawn', 'noon', 'dusk', 'midnight'))} {place}",
            str(one_of(rng, tuple(Background))), _number(rng, 1900, 2020), one_of(rng, PEOPLE[:6]).name,
        )
        for place in range(1, 25)
    ]  # fmt: skip
    objects: list[Row] = [
        (
            place, _number(rng, 1, len(pictures)), str(one_of(rng, tuple(Shape))), str(one_of(rng, tuple(Colour))),
            one_of(rng, SIZES),
        )
        for place in range(1, 71)
    ]  # fmt: skip
    return {"pictures": pictures, "objects": objects}


def _post(rng: "np.random.Generator") -> dict[str, list[Row]]:
    towns: list[Row] = [
        (place, name, one_of(rng, REGIONS), _number(rng, 2, 90) * 100) for place, name in enumerate(TOWNS, 1)
    ]
    letters: list[Row] = [
        (
            place, _number(rng, 1, len(towns)), _number(rng, 1, len(towns)), _number(rng, 5, 200),
            one_of(rng, DAYS).english,
        )
        for place in range(1, 71)
    ]  # fmt: skip
    return {"towns": towns, "letters": letters}


_ROWS: dict[str, "Callable[[np.random.Generator], dict[str, list[Row]]]"] = {
    "market": _market,
    "gallery": _gallery,
    "post": _post,
}
