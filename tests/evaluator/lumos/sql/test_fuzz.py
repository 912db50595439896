"""Changed gold queries, words in any order, and random bytes give results or typed failures, never an exception."""

import random
import re

from evaluator.lumos.sql.outcome import Failure, Reason, Result

TEXT = (
    "select from where group by having order limit union intersect except all any join left right natural on using as "
    "in not exists between like is null case when then else end distinct count sum avg min max with recursive values "
    "interval cast convert over partition rows range ( ) , ; ' \" ` * + - / % = < > <> != <=> := @ @@ ? : { } [ ] -- # "
    "/* */ \\ . 0 1 1e9 0x1 x'00' b'1' true show tables describe explain table lateral window rank() concat( repeat( "
    "group_concat( date_add( regexp collate binary escape % é \U0001f600 \0 into outfile pragma attach load_file( dual "
    "div mod xor && || ! ~ ^ << >> -> ->> separator extract( year trim( both position( if( json_table( match against "
    "for update rollup"
)
WORDS = TEXT.split(" ")
ODD = [0, 34, 39, 92, 96, 127, 233, 0x20AC, 0xD800, 0x1F600]


def changed(gold, *, draw):
    """A gold query with one to three changes."""
    parts = re.findall(r"\w+|\s+|[^\w\s]", gold)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        place, other = draw.randrange(len(parts)), draw.randrange(len(parts))
        match draw.randrange(6):
            case 0 if len(parts) > 1:
                del parts[place]
            case 1:
                parts.insert(place, f" {draw.choice(WORDS)} ")
            case 2:
                parts[place] = draw.choice(WORDS)
            case 3:
                parts[place], parts[other] = parts[other], parts[place]
            case 4:
                parts[place:place] = parts[place : place + draw.randint(1, 12)] * draw.choice([1, 2, 30])
            case _:
                parts[place] += chr(draw.choice([*ODD, draw.randrange(256)]))
    return "".join(parts)


def statement(tasks, *, draw):
    kind, task = draw.random(), draw.choice(tasks)
    if kind < 0.8:
        return task.database, changed(task.gold, draw=draw)
    if kind < 0.9:
        return task.database, " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 60)))
    return task.database, bytes(draw.randrange(256) for _ in range(draw.randint(0, 200))).decode("utf-8", "replace")


def test_any_text_gives_a_result_or_a_failure(runner, tasks, full):
    draw = random.Random(0)
    found = []
    for _ in range(1500 if full else 150):
        database, text = statement(tasks, draw=draw)
        result = runner.run(text, database=database)
        assert isinstance(result, Result | Failure)
        if isinstance(result, Failure):
            assert isinstance(result.reason, Reason)
            assert 0 < len(result.message) < 1500
            assert "sqlglot" not in result.message
        found.append(result)
    assert sum(isinstance(result, Result) for result in found) > len(found) / 30
    assert len({result.reason for result in found if isinstance(result, Failure)}) >= 5
