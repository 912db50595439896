"""Databases of a market, a gallery and a post office, with other rows in each town, and questions on them.

Each question has a query for each subgoal. The values that a later query needs take the place of a reference, as in
LUMOS's annotations.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
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


KINDS = ("easy", "medium", "hard", "extra")
_MOST_ROWS = 12
Part = tuple[str, str]
"""A subgoal and its query; `{1}` is the result of the first."""
Question = tuple[str, tuple[Part, ...]]


def draw_question(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """The question with this number; each attempt is another one of the same kind. It has at most twelve rows."""
    number = number_for(index)
    kind = KINDS[index // 3 % len(KINDS)]
    rng = source.stream("database question", index, attempt)
    connection = opened(source=source, number=number)
    while True:
        text, parts = one_of(rng, _QUESTIONS[family_of(number), kind])(rng)
        queries = _whole(parts)
        results = [connection.execute(query).fetchmany(_MOST_ROWS + 1) for query in queries]
        # Without rows a result cannot take the place of its reference.
        if all(map(_has_values, results)) and len(results[-1]) <= _MOST_ROWS:
            break
    turns = tuple(
        GoldTurn(subgoal, f"R{place} = {_with_references(written)}")
        for place, (subgoal, written) in enumerate(parts, start=1)
    )
    return Drawn(text=text, answer=queries[-1], gold=turns, kind=kind, scope=name_of(number))


@lru_cache(maxsize=32)
def opened(*, source: Source, number: int) -> "sqlite3.Connection":
    """A database in memory, to draw questions with; planners' statements never reach it."""
    import sqlite3

    found = database(source=source, number=number)
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    for name, table in found.schema.tables.items():
        columns = ", ".join(column.name for column in table.columns)
        connection.execute(f"CREATE TABLE {name} ({columns})")
        holes = ", ".join("?" * len(table.columns))
        connection.executemany(f"INSERT INTO {name} VALUES ({holes})", found.rows[name])  # noqa: S608 - own names
    return connection


def _has_values(rows: "Sequence[tuple[object, ...]]") -> bool:
    return any(value is not None for row in rows for value in row)


def _whole(parts: tuple[Part, ...]) -> list[str]:
    queries: list[str] = []
    for _, written in parts:
        for place, query in enumerate(queries, start=1):
            written = written.replace(f"{{{place}}}", query)
        queries.append(written)
    return queries


def _with_references(written: str) -> str:
    for place in range(1, 4):
        written = written.replace(f"{{{place}}}", f"R{place}")
    return written


def _pick(rng: "np.random.Generator") -> dict[str, object]:
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


def _asked(text: str, *parts: Part) -> "Callable[[np.random.Generator], Question]":
    def drawn(rng: "np.random.Generator") -> Question:
        slots = {**_pick(rng), **{str(place): f"{{{place}}}" for place in range(1, 4)}}
        filled = {name: str(value) for name, value in slots.items()}
        return _filled(text, filled), tuple((_filled(goal, filled), _filled(query, filled)) for goal, query in parts)

    return drawn


def _filled(text: str, slots: dict[str, str]) -> str:
    for name, value in slots.items():
        text = text.replace(f"<{name}>", value)
    return text


_QUESTIONS: "dict[tuple[str, str], tuple[Callable[[np.random.Generator], Question], ...]]" = {
    ("market", "easy"): (
        _asked(
            "How many people are older than <age>?",
            ("Count the people older than <age>.", "SELECT COUNT(*) FROM people WHERE age > <age>"),
        ),
        _asked(
            "What are the names of the people who live in <town>?",
            ("List the names of the people in <town>.", "SELECT name FROM people WHERE town = '<town>'"),
        ),
        _asked(
            "What is the average price of things of the kind <kind>?",
            ("Compute the average price of <kind>.", "SELECT AVG(price) FROM things WHERE kind = '<kind>'"),
        ),
    ),
    ("market", "medium"): (
        _asked(
            "How many sales were there at each place?",
            ("Count the sales by place.", "SELECT place, COUNT(*) FROM sales GROUP BY place"),
        ),
        _asked(
            "List the names and ages of the people from the oldest to the youngest, if they are older than <age>.",
            (
                "List the people older than <age> by age.",
                "SELECT name, age FROM people WHERE age > <age> ORDER BY age DESC, name",
            ),
        ),
        _asked(
            "What did <name> sell on <day>? Give the names of the things.",
            ("Find the number of <name>.", "SELECT person_id FROM people WHERE name = '<name>'"),
            (
                "Find the things that this person sold on <day>.",
                "SELECT thing_id FROM sales WHERE day = '<day>' AND person_id IN ({1})",
            ),
            ("List the names of these things.", "SELECT name FROM things WHERE thing_id IN ({2})"),
        ),
    ),
    ("market", "hard"): (
        _asked(
            "Which people sold nothing at the <place>? Give their names.",
            ("Find who sold something at the <place>.", "SELECT person_id FROM sales WHERE place = '<place>'"),
            ("List the names of all others.", "SELECT name FROM people WHERE person_id NOT IN ({1})"),
        ),
        _asked(
            "What are the names of the things that are dearer than the <thing>?",
            ("Find the price of the <thing>.", "SELECT price FROM things WHERE name = '<thing>'"),
            ("List the things with a higher price.", "SELECT name FROM things WHERE price > ({1})"),
        ),
    ),
    ("market", "extra"): (
        _asked(
            "Which <count> people sold most often? Give their names and the number of their sales.",
            (
                "Count the sales of each person and take the <count> highest.",
                "SELECT people.name, COUNT(*) FROM sales JOIN people ON sales.person_id = people.person_id "
                "GROUP BY people.person_id ORDER BY COUNT(*) DESC, people.name LIMIT <count>",
            ),
        ),
        _asked(
            "In which towns do people live who sold a <thing> on <day> or at the <place>?",
            ("Find the number of the <thing>.", "SELECT thing_id FROM things WHERE name = '<thing>'"),
            (
                "Find who sold it on <day> or at the <place>.",
                "SELECT person_id FROM sales WHERE thing_id IN ({1}) AND (day = '<day>' OR place = '<place>')",
            ),
            ("List the towns of these people.", "SELECT DISTINCT town FROM people WHERE person_id IN ({2})"),
        ),
    ),
    ("gallery", "easy"): (
        _asked(
            "How many pictures show <background>?",
            ("Count the pictures of <background>.", "SELECT COUNT(*) FROM pictures WHERE background = '<background>'"),
        ),
        _asked(
            "What are the titles of the pictures that <painter> painted?",
            ("List the titles by <painter>.", "SELECT title FROM pictures WHERE painter = '<painter>'"),
        ),
    ),
    ("gallery", "medium"): (
        _asked(
            "How many objects of each colour are there?",
            ("Count the objects by colour.", "SELECT colour, COUNT(*) FROM objects GROUP BY colour"),
        ),
        _asked(
            "What are the titles of the pictures with a <colour> <shape>?",
            (
                "Find the pictures with a <colour> <shape>.",
                "SELECT picture_id FROM objects WHERE colour = '<colour>' AND shape = '<shape>'",
            ),
            ("List their titles.", "SELECT title FROM pictures WHERE picture_id IN ({1})"),
        ),
        _asked(
            "List the titles and years of the pictures painted after <year>, the newest first.",
            (
                "List the pictures after <year> by year.",
                "SELECT title, year FROM pictures WHERE year > <year> ORDER BY year DESC, title",
            ),
        ),
    ),
    ("gallery", "hard"): (
        _asked(
            "Which pictures by <painter> have no <shape>? Give their titles.",
            ("Find the pictures with a <shape>.", "SELECT picture_id FROM objects WHERE shape = '<shape>'"),
            (
                "List the other titles by <painter>.",
                "SELECT title FROM pictures WHERE painter = '<painter>' AND picture_id NOT IN ({1})",
            ),
        ),
        _asked(
            "Which painters have more than <count> pictures?",
            (
                "Count the pictures of each painter and keep those with more than <count>.",
                "SELECT painter FROM pictures GROUP BY painter HAVING COUNT(*) > <count>",
            ),
        ),
    ),
    ("gallery", "extra"): (
        _asked(
            "How many <size> objects has each painter painted? Begin with the highest number.",
            (
                "Count the <size> objects of each painter.",
                "SELECT pictures.painter, COUNT(*) FROM objects JOIN pictures ON objects.picture_id = "
                "pictures.picture_id WHERE objects.size = '<size>' GROUP BY pictures.painter "
                "ORDER BY COUNT(*) DESC, pictures.painter",
            ),
        ),
        _asked(
            "Which painters painted a <colour> <shape> before the newest picture of <background>?",
            (
                "Find the year of the newest picture of <background>.",
                "SELECT MAX(year) FROM pictures WHERE background = '<background>'",
            ),
            (
                "Find the pictures with a <colour> <shape>.",
                "SELECT picture_id FROM objects WHERE colour = '<colour>' AND shape = '<shape>'",
            ),
            (
                "List the painters of those that are older.",
                "SELECT DISTINCT painter FROM pictures WHERE picture_id IN ({2}) AND year < ({1})",
            ),
        ),
    ),
    ("post", "easy"): (
        _asked(
            "How many letters are heavier than <weight>?",
            ("Count the letters heavier than <weight>.", "SELECT COUNT(*) FROM letters WHERE weight > <weight>"),
        ),
        _asked(
            "Which towns are in the <region>?",
            ("List the towns of the <region>.", "SELECT name FROM towns WHERE region = '<region>'"),
        ),
    ),
    ("post", "medium"): (
        _asked(
            "How many people live in each region?",
            ("Add up the population by region.", "SELECT region, SUM(population) FROM towns GROUP BY region"),
        ),
        _asked(
            "To which towns did <town> send letters on <day>?",
            ("Find the number of <town>.", "SELECT town_id FROM towns WHERE name = '<town>'"),
            (
                "Find where its letters of <day> went.",
                "SELECT to_town FROM letters WHERE day = '<day>' AND from_town IN ({1})",
            ),
            ("List the names of these towns.", "SELECT name FROM towns WHERE town_id IN ({2})"),
        ),
    ),
    ("post", "hard"): (
        _asked(
            "Which towns got no letter on <day>?",
            ("Find the towns that got one.", "SELECT to_town FROM letters WHERE day = '<day>'"),
            ("List all others.", "SELECT name FROM towns WHERE town_id NOT IN ({1})"),
        ),
        _asked(
            "Which towns have more people than <town>?",
            ("Find the population of <town>.", "SELECT population FROM towns WHERE name = '<town>'"),
            ("List the towns with more.", "SELECT name FROM towns WHERE population > ({1})"),
        ),
    ),
    ("post", "extra"): (
        _asked(
            "Which <count> towns sent the heaviest letters in all? Give name and total weight.",
            (
                "Add up the weight of the letters of each town and take the <count> highest.",
                "SELECT towns.name, SUM(letters.weight) FROM letters JOIN towns ON letters.from_town = towns.town_id "
                "GROUP BY towns.town_id ORDER BY SUM(letters.weight) DESC, towns.name LIMIT <count>",
            ),
        ),
        _asked(
            "How many letters from the <region> went to towns with more than <people> people?",
            ("Find the towns of the <region>.", "SELECT town_id FROM towns WHERE region = '<region>'"),
            ("Find the towns with more than <people> people.", "SELECT town_id FROM towns WHERE population > <people>"),
            (
                "Count the letters from the ones to the others.",
                "SELECT COUNT(*) FROM letters WHERE from_town IN ({1}) AND to_town IN ({2})",
            ),
        ),
    ),
}
