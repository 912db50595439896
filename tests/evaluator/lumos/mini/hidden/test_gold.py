"""Answers of hidden tasks: exact arithmetic, other queries for the same rows, and all structures of the grammar."""

import re
from fractions import Fraction

import pytest

from evaluator.lumos.maths.scoring import score_answer
from evaluator.lumos.maths.tools import Outcome, run
from evaluator.lumos.mini.databases import FAMILIES, KINDS, family_of, kind_of, number_for, opened
from evaluator.lumos.mini.draws import Source
from evaluator.lumos.mini.groups import draw_group
from evaluator.lumos.mini.hidden.databases import draw_question, question_data
from evaluator.lumos.mini.hidden.grammar import number_text
from evaluator.lumos.mini.hidden.problems import calculated, structures, with_structure
from evaluator.miniature.seeds import Split
from tests.rings import usual

SEEDS = [f"season {number}" for number in range(20)]


def hidden(seed):
    return Source(split=Split.HIDDEN, hidden_seed=seed)


def result_of(turns):
    """The last result of calculations, by the suite's own tool."""
    values = {}
    for turn in turns:
        name, arguments = re.fullmatch(r"(R\d+) = Calculator\((.*)\)", turn.actions).groups()
        outcome = run(tool="Calculator", arguments=arguments, values=values)
        assert isinstance(outcome, Outcome), outcome
        (values[name],) = outcome.values
    return values[name].text


@pytest.mark.parametrize("seed", usual(SEEDS, of=SEEDS[:2]))
def test_calculations_of_solutions_give_the_answers_of_problems(seed):
    for task in draw_group(group="maths", source=hidden(seed)):
        score = score_answer(answer=result_of(task.gold), reference=Fraction(task.answer))
        assert score.is_equal, task.text
        assert len(task.gold) == int(task.kind.split()[0])


@pytest.mark.parametrize("operations", range(1, 6))
def test_solutions_of_every_structure_only_know_numbers_that_its_text_mentions(operations):
    assert len(structures(operations)) >= 11
    for structure in structures(operations):
        for attempt in range(5):
            task = with_structure(structure, source=hidden("a"), index=operations, attempt=attempt)
            assert result_of(task.gold) == task.answer
            known = {int(number) for number in re.findall(r"\d+", in_digits(task.text))}
            used = {
                int(number)
                for turn in task.gold
                for number in re.findall(r"(?<!R)\b\d+", turn.actions.partition("=")[2])
            }
            assert used <= known | {2, 3, 4, 5, 12, 60, 100, 1000}, task.text


def in_digits(text):
    words = {number_text(value, in_words=True): str(value) for value in range(21)}
    return re.sub(r"[A-Za-z]+", lambda match: words.get(match[0].lower(), match[0]), text)


@pytest.mark.parametrize("seed", usual(SEEDS, of=SEEDS[:2]))
def test_a_query_written_otherwise_has_the_rows_of_the_gold_query(seed):
    source = hidden(seed)
    for index in range(60):
        task = draw_question(source=source, index=index)
        number = number_for(index)
        rows = question_data(family=family_of(number), kind=kind_of(index))
        again = next(found for row in rows if (found := filled_like(row, task)) is not None)
        connection = opened(source=source, number=number)
        results = [
            [tuple(round(v, 9) if isinstance(v, float) else v for v in row) for row in connection.execute(query)]
            for query in (task.answer, again)
        ]
        if " ORDER BY " not in task.answer:
            results = [sorted(rows, key=repr) for rows in results]
        assert results[0] == results[1], task.text


def filled_like(row, task):
    """The check of a question with the values of a task; None for the task of another question."""
    for text in row["texts"]:
        seen = set()

        def group(slot, seen=seen):
            is_known = slot[1] in seen
            seen.add(slot[1])
            return f"(?P={slot[1]})" if is_known else f"(?P<{slot[1]}>.+)"

        pattern = re.sub(r"<(\w+)>", group, re.sub(r"[?().+*]", lambda mark: "\\" + mark[0], text))
        if match := re.fullmatch(pattern, task.text):
            return re.sub(r"<(\w+)>", lambda slot, match=match: match[slot[1]], row["again"])
    return None


def test_there_are_three_questions_of_each_family_and_kind():
    counts = {(family, kind): len(question_data(family=family, kind=kind)) for family in FAMILIES for kind in KINDS}
    assert min(counts.values()) >= 3


def test_expressions_are_exact_and_have_nothing_else():
    numbers = {"a": Fraction(7), "b": Fraction(3)}
    assert calculated("a / b * b", numbers) == 7
    assert calculated("floor(a / b) + a % b", numbers) == 3
    assert calculated("a > b", numbers) == 1
    with pytest.raises(ValueError, match="something other than"):
        calculated("a ** b if a else [b]", numbers)
