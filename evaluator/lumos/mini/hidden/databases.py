"""Questions on databases of the hidden split: other combinations of columns, conditions and tables, in other words."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from evaluator.lumos.mini.databases import family_of, kind_of, number_for, question_from
from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.mini.hidden.grammar import Grammar


def draw_question(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the question with this number. Attempts give questions of the same kind. Its result has at most 12 rows."""
    grammar = Grammar(source)
    family, kind = family_of(number_for(index)), kind_of(index)
    questions = [
        (grammar.wording(row["parts"][-1][1], row["texts"]), tuple((subgoal, query) for subgoal, query in row["parts"]))
        for row in grammar.part(f"questions {family} {kind}", question_data(family=family, kind=kind))
    ]
    rng = grammar.stream("database question", index, attempt)
    return question_from(questions, source=source, index=index, rng=rng)


@cache
def question_data(*, family: str, kind: str) -> tuple[Mapping[str, Any], ...]:
    """The questions of a family and kind; see `database_questions.toml`."""
    rows = tomllib.loads(files(__package__).joinpath("database_questions.toml").read_text(encoding="utf-8"))
    return tuple(row for row in rows["questions"] if (row["family"], row["kind"]) == (family, kind))
