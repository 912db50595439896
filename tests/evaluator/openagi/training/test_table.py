import re

import pytest

from evaluator.openagi.training.study import SeedResults, TaskResult, cells, make_difference, make_row, markdown


def result(metric, score, *, is_valid=True, is_gold=False):
    return TaskResult(metric=metric, score=score, is_valid=is_valid, is_gold=is_gold)


MANY = tuple(map(str, range(12)))


def seed(number, *, tests, gain):
    """Task 0 is of ViT, 1 and all others of BERT; `new` scores about `gain` more than `old`."""
    old = {"0": result("ViT", 0.2), "1": result("BERT", 0.4), "2": result("BERT", 0.0, is_valid=False)}
    old |= {key: result("BERT", int(key) / 20) for key in MANY[3:]}
    gains = {key: gain * (0.98 if int(key) % 2 else 1.02) for key in old}
    new = {key: result(one.metric, one.score + gains[key], is_gold=key == "1") for key, one in old.items()}
    return SeedResults(seed=number, tests=tests, results={"old": old, "new": new})


def test_a_row_is_the_mean_over_seeds_and_draws():
    seeds = [
        seed(0, tests=(("0", "1"), ("1", "2")), gain=0.0),
        seed(1, tests=(("0",),), gain=0.0),
    ]
    row = make_row(variant="old", seeds=seeds)
    assert row.metrics["overall"].mean == pytest.approx((0.2 + 0.4 + 0.4 + 0.0 + 0.2) / 5)
    assert row.metrics["BERT"].mean == pytest.approx((0.4 + 0.4 + 0.0) / 3)
    assert row.metrics["ViT"].mean == pytest.approx(0.2)
    assert row.metrics["overall"].count == 3
    assert "CLIP" not in row.metrics
    assert row.valid == pytest.approx(4 / 5)
    assert row.by_seed == pytest.approx((0.25, 0.2))


def test_a_difference_is_paired_by_task_seed_and_draw():
    seeds = [seed(0, tests=(MANY[:8],), gain=0.1), seed(1, tests=(MANY[4:],), gain=0.1)]
    found = make_difference(better="new", worse="old", seeds=seeds)
    interval = found.metrics["overall"]
    # Every task gains about the same, so there is little spread, however much the scores themselves differ.
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.1, 0.1, 0.1), abs=0.002)
    assert found.by_seed == pytest.approx((0.1, 0.1))
    assert found.holds


def test_a_difference_whose_interval_holds_zero_does_not_hold():
    seeds = [seed(0, tests=(MANY,), gain=0.0)]
    assert not make_difference(better="new", worse="old", seeds=seeds).holds


def test_a_difference_over_fewer_than_ten_tasks_does_not_hold():
    """There is no interval then; several seeds and draws of one task are still one task."""
    seeds = [seed(number, tests=(MANY[:9], MANY[:9]), gain=0.1) for number in range(2)]
    found = make_difference(better="new", worse="old", seeds=seeds)
    assert (found.metrics["overall"].count, found.metrics["overall"].ends) == (9, None)
    assert not found.holds


def test_the_table_prints_every_variant_and_says_what_was_not_measured():
    seeds = [seed(0, tests=(MANY,), gain=0.1)]
    rows = [make_row(variant=variant, seeds=seeds) for variant in ("old", "new")]
    differences = [make_difference(better="new", worse="old", seeds=seeds)]
    text = markdown(table=cells(rows=rows, differences=differences), seeds=[0])
    lines = text.splitlines()
    assert lines[0].startswith("| variant | CLIP | BERT | ViT | overall |")
    assert "not measured" in lines[2]
    assert "| old |" in lines[2]
    assert re.search(r"\+0\.0998 \(\+0\.09\d\d to \+0\.10\d\d\)", lines[4])
    assert "+0.1020 (-0.9725 to +0.9775)" in lines[4], "one task is of ViT"
    assert len({line.count("|") for line in lines[:5]}) == 1
