"""Databases of a market, a gallery and a post office, and questions on them.

Each question has a query for each subgoal. A later query refers to the results of earlier ones, as in LUMOS's
annotations. The questions are in `database_questions.toml`.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.sql.dump import Database, Row
from evaluator.lumos.sql.schema import Column, Kind, Schema, Table
from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.grammar.words import BELONGINGS, DAYS, PEOPLE, PLACES
from evaluator.miniature.seeds import one_of
from evaluator.miniature.vocabulary import Background, Colour, Shape

if TYPE_CHECKING:
    import sqlite3

    import numpy as np


FAMILIES = ("market", "gallery", "post")
DATABASES = 6
"""Databases per `_TASKS` tasks: two of each family."""
_TASKS = 600
TOWNS = ("Alder", "Birchfield", "Cedarbrook", "Dunmoor", "Elmstead", "Farnley", "Greyport", "Hillbury")
REGIONS = ("north", "south", "east", "west")
SIZES = ("small", "medium", "large")
GOODS = ("food", "clothing", "furniture", "tool")
_TYPES = {Kind.INTEGER: "int(11)", Kind.TEXT: "varchar(80)"}


def number_for(index: int) -> int:
    """Number of a task's database."""
    return index % DATABASES + DATABASES * (index // _TASKS)


def databases_for(tasks: int) -> int:
    """Number of databases of so many tasks."""
    return DATABASES * (1 + (tasks - 1) // _TASKS)


def family_of(number: int) -> str:
    """Family of the database with this number."""
    return FAMILIES[number % len(FAMILIES)]


def name_of(number: int) -> str:
    """The name of the database with this number, such as `market_0`."""
    return f"{family_of(number)}_{number // len(FAMILIES)}"


@lru_cache(maxsize=64)
def database(*, source: Source, number: int) -> Database:
    """The database with this number."""
    rows = _ROWS[family_of(number)](source.stream("database", number))
    tables = _TABLES[family_of(number)]
    return Database(schema=Schema(name=name_of(number), tables={table.name: table for table in tables}), rows=rows)


def _table(name: str, /, **kinds: Kind) -> Table:
    columns = tuple(
        Column(name=column, type=_TYPES[kind], kind=kind, is_nullable=place > 0, default=None)
        for place, (column, kind) in enumerate(kinds.items())
    )
    inner = ", ".join(f"`{column.name}` {column.type}" for column in columns)
    key = columns[0].name
    return Table(
        name=name, columns=columns, primary_key=(key,), unique_keys=(), keys=(),
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
        (place, person.name, person.trade, _number(rng, 18, 80), one_of(rng, TOWNS))
        for place, person in enumerate(PEOPLE, 1)
    ]
    things: list[Row] = [
        (place, thing.noun.english, one_of(rng, GOODS), _number(rng, 1, 40))
        for place, thing in enumerate(BELONGINGS, 1)
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


KINDS = ("easy", "medium", "hard", "extra")
_MOST_ROWS = 12
Part = tuple[str, str]
"""A subgoal and its query; `{1}` is the result of the first."""
Question = tuple[str, tuple[Part, ...]]


def draw_question(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the question with this number. Attempts give questions of the same kind. Its result has at most 12 rows."""
    rng = source.stream("database question", index, attempt)
    questions = _questions(family_of(number_for(index)), kind_of(index))
    return question_from(questions, source=source, index=index, rng=rng)


def kind_of(index: int) -> str:
    """Kind of a task's question."""
    return KINDS[index // 3 % len(KINDS)]


def question_from(questions: Sequence[Question], *, source: Source, index: int, rng: "np.random.Generator") -> Drawn:
    """One of some questions, with values for which its database has at least one and at most 12 rows."""
    number = number_for(index)
    connection = opened(source=source, number=number)
    while True:
        template, templates = one_of(rng, questions)
        slots = _slots(rng)
        parts = [(_filled(subgoal, slots), _filled(query, slots)) for subgoal, query in templates]
        queries: list[str] = []
        for _, query in parts:
            for place, earlier in enumerate(queries, start=1):
                query = query.replace(f"{{{place}}}", earlier)
            queries.append(query)
        results = [connection.execute(query).fetchmany(_MOST_ROWS + 1) for query in queries]
        # An empty result cannot replace its reference.
        has_values = all(any(value is not None for row in rows for value in row) for rows in results)
        if has_values and len(results[-1]) <= _MOST_ROWS:
            break
    actions = [re.sub(r"{([1-3])}", r"R\1", query) for _, query in parts]
    turns = tuple(
        GoldTurn(subgoal, f"R{place} = {action}")
        for place, ((subgoal, _), action) in enumerate(zip(parts, actions, strict=True), start=1)
    )
    text = _filled(template, slots)
    return Drawn(text=text, answer=queries[-1], gold=turns, kind=kind_of(index), scope=name_of(number))


@lru_cache(maxsize=32)
def opened(*, source: Source, number: int) -> "sqlite3.Connection":
    """An in-memory database for drawing questions. Not used for planners' statements."""
    import sqlite3

    drawn = database(source=source, number=number)
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    for name, table in drawn.schema.tables.items():
        columns = ", ".join(column.name for column in table.columns)
        connection.execute(f"CREATE TABLE {name} ({columns})")
        holes = ", ".join("?" * len(table.columns))
        connection.executemany(f"INSERT INTO {name} VALUES ({holes})", drawn.rows[name])  # noqa: S608 - own names
    return connection


def _slots(rng: "np.random.Generator") -> dict[str, object]:
    """A value for each slot."""
    return {
        "trade": one_of(rng, PEOPLE).trade, "name": one_of(rng, PEOPLE).name, "painter": one_of(rng, PEOPLE[:6]).name,
        "thing": one_of(rng, BELONGINGS).noun.english, "town": one_of(rng, TOWNS), "region": one_of(rng, REGIONS),
        "place": one_of(rng, PLACES[:6]).thing.noun.english, "day": one_of(rng, DAYS).english,
        "age": int(rng.integers(25, 70)), "price": int(rng.integers(5, 35)), "year": int(rng.integers(1920, 2010)),
        "weight": int(rng.integers(20, 180)), "count": int(rng.integers(2, 5)), "shape": str(one_of(rng, tuple(Shape))),
        "colour": str(one_of(rng, tuple(Colour))), "background": str(one_of(rng, tuple(Background))),
        "size": one_of(rng, SIZES), "kind": one_of(rng, GOODS), "people": int(rng.integers(10, 80)) * 100,
    }  # fmt: skip


def _filled(text: str, slots: dict[str, object]) -> str:
    for name, value in slots.items():
        text = text.replace(f"<{name}>", str(value))
    return text


@cache
def _questions(family: str, kind: str) -> tuple[Question, ...]:
    """The questions of a family and kind, with slots."""
    text = files(__package__).joinpath("database_questions.toml").read_text(encoding="utf-8")
    return tuple(
        (row["text"], tuple((subgoal, query) for subgoal, query in row["parts"]))
        for row in tomllib.loads(text)["questions"]
        if (row["family"], row["kind"]) == (family, kind)
    )
