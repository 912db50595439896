"""Filters of tasks, without a database."""

import random
from collections.abc import Mapping, Sequence

from evaluator.controlllm.toolbench.suite import FACETS as TOOLBENCH
from evaluator.core.suites.facets import Facet, Facets
from evaluator.openagi.suite import FACETS as OPENAGI
from evaluator.scoring.causes.taxonomy import Cause, Finding
from leaderboard.evaluations.results.filters import MANY
from leaderboard.evaluations.results.task_rows import (
    Selection,
    TaskRow,
    facets_of,
    grouped,
    index,
    kept_query,
    raw_values,
    words_of,
)
from leaderboard.evaluations.results.task_rows import select as select_tasks

RESULT = frozenset({"text", "reason", "reason_text", "score", "seconds", "plan_summary", "tools", "metric"})


def row(key: str, outcome: str = "scored", **fields) -> TaskRow:
    """A task; what is no field of its result is a facet, given by its values."""
    values = {"position": int(key), "text": f"Request {key}", "structure": "linear", "metric": "ViT"}
    values |= {name: value for name, value in fields.items() if name in RESULT}
    facets = {name: value for name, value in fields.items() if name not in RESULT}
    facets = {name: (value,) if isinstance(value, str) else value for name, value in facets.items() if value}
    return TaskRow(key=key, outcome=outcome, facets=facets, **values)


def fault(key: str, text: str) -> TaskRow:
    return row(key, "planner_fault")._replace(main=Finding(cause=Cause.TIMEOUT, given=text))


def select(*, rows: Sequence[TaskRow], parameters: Mapping[str, str], suite: Facets = OPENAGI) -> Selection:
    """Index and select."""
    return select_tasks(tasks=index(rows=rows, suite=suite), parameters=parameters)


def test_the_search_wants_every_word_whatever_its_case():
    rows = [row("0", text="Given noisy image"), row("1", text="Given blurry image", plan_summary="Image Denoising")]
    assert [one.key for one in select(rows=rows, parameters={"q": "NOISY given"}).rows] == ["0"]
    assert [one.key for one in select(rows=rows, parameters={"q": "denoising"}).rows] == ["1"]
    rows = [row("0", group="image_QA", level="easy"), row("1", group="video_QA", level="image_level")]
    found = select(rows=rows, parameters={"q": "image_"}, suite=TOOLBENCH)
    assert [one.key for one in found.rows] == ["0"], "the suite declares which facets are searched"


def test_a_cause_is_shown_as_a_filter_only_where_it_is_set():
    rows = [fault("0", "It was late."), fault("1", "It never came.")]
    assert "cause" not in [group.name for group in select(rows=rows, parameters={}).filters]
    selection = select(rows=rows, parameters={"cause": rows[1].cause})
    assert [one.key for one in selection.rows] == ["1"]
    (choice,) = next(group for group in selection.filters if group.name == "cause").choices
    assert (choice.value, choice.count, choice.chosen) == (rows[1].cause, 1, True)


def test_a_facet_with_one_value_is_offered_if_it_is_set_and_one_with_many_is_a_list():
    rows = [row("0"), row("1")]
    assert select(rows=rows, parameters={}).filters == ()
    assert [group.name for group in select(rows=rows, parameters={"metric": "ViT"}).filters] == ["metric"]
    few = [row(str(number), group=f"g{number}") for number in range(MANY)]
    more = [*few, row(str(MANY), group=f"g{MANY}")]
    for rows, is_long in ((few, False), (more, True)):
        (group,) = [
            group for group in select(rows=rows, parameters={}, suite=TOOLBENCH).filters if group.name == "group"
        ]
        assert group.is_long == is_long


def test_filters_and_counts_agree_with_looking_at_every_row():
    dice = random.Random(5)
    rows = [
        row(
            str(number),
            dice.choice(["scored", "planner_fault", "pending"]),
            structure=dice.choice(["linear", "nonlinear"]),
            degradation=tuple(dice.sample(["noise", "blur", "grayscale"], dice.randrange(3))),
            tools=tuple(dice.sample(["A", "B", "C"], dice.randrange(4))),
            language=dice.choice(["", "en", "de"]),
        )
        for number in range(200)
    ]
    tasks = index(rows=rows, suite=OPENAGI)
    offered = {"outcome": "scored", "structure": "linear", "degradation": "noise", "tool": "B", "language": "de"}
    facets = {facet.name: facet for facet in facets_of(suite=OPENAGI, rows=rows)}
    for _ in range(30):
        chosen = {name: value for name, value in offered.items() if dice.random() < 0.5}

        def matches(one: TaskRow, wanted: dict[str, str]) -> bool:
            return all(value in facets[name].values(one) for name, value in wanted.items())

        selection = select_tasks(tasks=tasks, parameters=chosen)
        assert list(selection.rows) == [one for one in rows if matches(one, chosen)]
        for group in selection.filters:
            others = {name: value for name, value in chosen.items() if name != group.name}
            for choice in group.choices:
                wanted = others | {group.name: choice.value}
                assert choice.count == sum(matches(one, wanted) for one in rows), (chosen, group.name, choice)


def test_filters_are_those_of_the_suite_in_its_order():
    rows = [row("0", a="x", b="1"), row("1", a="y", b="10"), row("2", a="x", b="2")]
    number = Facet(name="b", label="B", attribute="b", unit="hop")
    letter = Facet(name="a", label="A", attribute="a", words={"x": "The X"})
    found = select(rows=rows, parameters={}, suite=Facets(filters=(number, letter)))
    assert [(one.name, [choice.words for choice in one.choices]) for one in found.filters] == [
        ("b", ["1 hop", "2 hops", "10 hops"]),
        ("a", ["The X", "Y"]),
    ]


def test_values_come_from_the_attribute_that_the_facet_names():
    level, group, flag, active = (TOOLBENCH.named([name])[0] for name in ("level", "group", "flag", "active"))
    attributes = {"level": "hard", "group": "image_QA,count_object", "flags": ["a", "b"], "active": False}
    assert raw_values(facet=level, attributes=attributes) == ("hard",)
    assert raw_values(facet=flag, attributes=attributes) == ("a", "b")
    assert raw_values(facet=active, attributes=attributes) == ("no",)
    assert raw_values(facet=level, attributes={"level": None}) == ()
    named = raw_values(facet=group, attributes=attributes)
    assert (named, grouped(facet=group, values=named)) == (("image_QA,count_object",), ("several_domains",))
    assert words_of(OPENAGI.named(["base"])[0])("vqa") == "VQA"
    assert words_of(OPENAGI.named(["language"])[0])("de") == "German"


def test_the_address_keeps_what_says_which_tasks_are_shown():
    parameters = {"page": "3", "sort": "-score", "q": "a b", "SE": "1", "level": "easy", "steps": "2", "outcome": ""}
    assert kept_query(parameters=parameters, suite=TOOLBENCH, marks=["SE"]) == "?level=easy&SE=1&q=a+b&sort=-score"
    assert kept_query(parameters={"page": "2"}, suite=TOOLBENCH, marks=[]) == ""
