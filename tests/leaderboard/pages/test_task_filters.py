"""Filters, without a database."""

import random

from leaderboard.results.task_filters import FACETS, MANY, TaskRow, index, select


def row(key: str, outcome: str = "scored", **fields) -> TaskRow:
    values = {
        "position": int(key),
        "text": f"Request {key}",
        "structure": "linear",
        "metric": "ViT",
        "base": "restoration",
        "degradations": (),
        "reason": "",
        "reason_text": "",
        "score": None,
        "seconds": None,
        "plan_summary": "",
    }
    return TaskRow(key=key, outcome=outcome, **values | fields)


def test_a_task_with_several_degradations_is_found_under_each():
    rows = [row("0", degradations=("noise", "blur")), row("1", degradations=("blur",))]
    assert [one.key for one in select(rows=rows, parameters={"degradation": "noise"}).rows] == ["0"]
    assert [one.key for one in select(rows=rows, parameters={"degradation": "blur"}).rows] == ["0", "1"]


def test_a_facet_with_one_value_is_not_offered_unless_it_is_set():
    rows = [row("0"), row("1")]
    assert select(rows=rows, parameters={}).groups == ()
    assert [group.name for group in select(rows=rows, parameters={"metric": "ViT"}).groups] == ["metric"]


def test_the_search_wants_every_word_whatever_its_case():
    rows = [row("0", text="Given noisy image"), row("1", text="Given blurry image", plan_summary="Image Denoising")]
    assert [one.key for one in select(rows=rows, parameters={"q": "NOISY given"}).rows] == ["0"]
    assert [one.key for one in select(rows=rows, parameters={"q": "denoising"}).rows] == ["1"]


def test_rows_without_a_score_stay_last_in_both_directions():
    rows = [row("0"), row("1", score=0.2), row("2", score=0.9)]
    assert [one.key for one in select(rows=rows, parameters={"sort": "score"}).rows] == ["1", "2", "0"]
    assert [one.key for one in select(rows=rows, parameters={"sort": "-score"}).rows] == ["2", "1", "0"]


def test_a_tool_or_a_modality_that_a_plan_uses_finds_the_task():
    rows = [
        row("0", tools=("Image Denoising", "Colorization"), modality="image → image"),
        row("1", tools=("Colorization",), modality="image → text"),
    ]
    assert [one.key for one in select(rows=rows, parameters={"tool": "Image Denoising"}).rows] == ["0"]
    assert [
        one.key for one in select(rows=rows, parameters={"tool": "Colorization", "modality": "image → text"}).rows
    ] == ["1"]
    groups = {group.name: group for group in select(rows=rows, parameters={}).groups}
    assert [(choice.value, choice.count) for choice in groups["tool"].choices] == [
        ("Colorization", 2),
        ("Image Denoising", 1),
    ]


def test_a_cause_is_shown_as_a_filter_only_where_it_is_set():
    rows = [row("0", "planner_fault", cause="aa"), row("1", "planner_fault", cause="bb")]
    assert "cause" not in [group.name for group in select(rows=rows, parameters={}).groups]
    selection = select(rows=rows, parameters={"cause": "bb"})
    assert [one.key for one in selection.rows] == ["1"]
    (choice,) = next(group for group in selection.groups if group.name == "cause").choices
    assert (choice.value, choice.count, choice.chosen) == ("bb", 1, True)


def test_a_facet_with_many_values_is_a_list_to_choose_from():
    few = [row(str(number), group=f"g{number}") for number in range(MANY)]
    more = [*few, row(str(MANY), group=f"g{MANY}")]
    for rows, is_long in ((few, False), (more, True)):
        (group,) = [group for group in select(rows=rows, parameters={}).groups if group.name == "group"]
        assert group.is_long == is_long


def test_filters_and_counts_agree_with_looking_at_every_row():
    dice = random.Random(5)
    rows = [
        row(
            str(number),
            dice.choice(["scored", "planner_fault", "pending"]),
            structure=dice.choice(["linear", "nonlinear"]),
            degradations=tuple(dice.sample(["noise", "blur", "grayscale"], dice.randrange(3))),
            tools=tuple(dice.sample(["A", "B", "C"], dice.randrange(4))),
            language=dice.choice(["", "en", "de"]),
        )
        for number in range(200)
    ]
    indexed = index(rows)
    offered = {"outcome": "scored", "structure": "linear", "degradation": "noise", "tool": "B", "language": "de"}
    facets = {facet.name: facet for facet in FACETS}
    for _ in range(30):
        chosen = {name: value for name, value in offered.items() if dice.random() < 0.5}

        def matches(one: TaskRow, wanted: dict[str, str]) -> bool:
            return all(value in facets[name].values(one) for name, value in wanted.items())

        selection = select(rows=indexed, parameters=chosen)
        assert list(selection.rows) == [one for one in rows if matches(one, chosen)]
        for group in selection.groups:
            others = {name: value for name, value in chosen.items() if name != group.name}
            for choice in group.choices:
                wanted = others | {group.name: choice.value}
                assert choice.count == sum(matches(one, wanted) for one in rows), (chosen, group.name, choice)
