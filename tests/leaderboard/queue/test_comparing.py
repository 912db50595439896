"""Whether own results agree with those measured again, without a database."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from evaluator.core.records import ArtefactReference, Outcome, SampleResult, StepRun
from leaderboard.queue.comparing import (
    MOST_OUTPUTS,
    Comparison,
    Finding,
    Measured,
    Rule,
    compare,
    measured,
    most_differing,
    sentence,
)
from tests.leaderboard.factories import make_record

RIGHT = {"steps": ["denoise"]}
OTHER = {"steps": ["sharpen"]}


def result(
    task: str = "0", *, score: float = 0.5, plan: Any = RIGHT, outcome: str = "scored", **fields: Any
) -> Measured:
    return Measured(task=task, outcome=outcome, score=score, plan=plan, **fields)


def executed(*samples: float, task: str = "0", score: float | None = None) -> Measured:
    mean = sum(samples) / len(samples)
    return result(task, score=mean if score is None else score, samples=samples)


def closed(*values: float) -> Measured:
    """One sample, with so many values of an indicator that follows from samples."""
    return replace(executed(0.5), by_sample={"closed": list(values)})


def fault(task: str = "0", *, plan: Any = None) -> Measured:
    return result(task, score=0.0, plan=plan, outcome="planner_fault")


FINDINGS = [
    (result(), result(), Finding.SAME),
    (fault(), fault(), Finding.SAME),
    (result(score=0.51), result(score=0.5), Finding.OTHER_SCORE),
    (replace(fault(), score=0.9), fault(), Finding.OTHER_SCORE),
    (executed(0.51), executed(0.5), Finding.SAME),
    (executed(0.53), executed(0.5), Finding.OTHER_SAMPLES),
    (executed(0.47), executed(0.5), Finding.OTHER_SAMPLES),
    (executed(0.5, 0.5), executed(0.5, 0.5), Finding.SAME),
    (executed(0.9, 0.1), executed(0.1, 0.9), Finding.OTHER_SAMPLES),
    (executed(0.5, 0.5, score=0.9), executed(0.5, 0.5), Finding.INCONSISTENT),
    (executed(0.5), executed(0.5, 0.5), Finding.INCONSISTENT),
    (result(), executed(0.5, 0.5), Finding.INCONSISTENT),
    (executed(1.5, 0.5), executed(0.5, 0.5), Finding.INCONSISTENT),
    (result(score=0.0), fault(plan=RIGHT), Finding.OTHER_OUTCOME),
    (result(), result(plan=OTHER), Finding.OTHER_PLAN),
    (result(plan={"a": 1, "b": 2}), result(plan={"b": 2, "a": 1}), Finding.SAME),
    (result(), fault(), Finding.OTHER_PLAN),
    (fault(), result(), Finding.OTHER_PLAN),
    (result(plan=None), result(), Finding.NO_PLAN),
    (result(indicators={"IR": 0.0}), result(indicators={"IR": 1.0}), Finding.OTHER_INDICATORS),
    (result(indicators={}), result(indicators={"IR": 1.0}), Finding.OTHER_INDICATORS),
    (result(indicators={"SE_best": 1.0}), result(indicators={"SE_best": 0.0}), Finding.SAME),
    (closed(1.0), executed(0.5), Finding.INCONSISTENT),
    (closed(1.0, 1.0), closed(1.0), Finding.INCONSISTENT),
    (closed(1.0), closed(0.0), Finding.OTHER_SAMPLES),
    (closed(1.0), closed(1.0), Finding.SAME),
]
"""The owner's result of a task, the one measured again, and what is found."""


def test_what_becomes_of_a_task():
    found = [compare(own=[own], again=[again], repeatable=False).tasks[0].finding for own, again, _ in FINDINGS]
    assert [(row, got) for row, got in zip(FINDINGS, found, strict=True) if got is not row[2]] == []


def test_results_of_other_tasks_are_refused():
    with pytest.raises(ValueError, match="different tasks"):
        compare(own=[result("0")], again=[result("1")], repeatable=False)


def test_where_plans_are_judged_the_indicator_counts_that_the_board_is_ranked_by():
    record = make_record("0", suite="toolmini", score=0.0).model_copy(update={"indicators": {"SE": 1.0}})
    assert measured(record=record, ranked_by="SE").score == 1.0
    assert measured(record=record, ranked_by="overall").score == 0.0
    missing = make_record("0", suite="openagi", outcome=Outcome.PLANNER_FAULT, score=0.0)
    assert measured(record=missing, ranked_by="overall").score == 0.0


def test_what_follows_from_the_samples_is_compared_sample_by_sample():
    sample = SampleResult(
        index=0, score=0.5, inputs={}, reference=None, answer=None, steps=[], indicators={"closed": 1.0}
    )
    record = make_record("0", suite="openagi").model_copy(
        update={"samples": [sample], "indicators": {"exact": 0.0, "closed": 1.0}}
    )
    found = measured(record=record, ranked_by="overall")
    assert (found.indicators, found.by_sample) == ({"exact": 0.0}, {"closed": [1.0]})
    fault = record.model_copy(update={"outcome": Outcome.PLANNER_FAULT, "score": 0.0})
    assert measured(record=fault, ranked_by="overall").by_sample == {}


def test_optional_columns_are_not_compared():
    record = make_record("0", suite="toolmini").model_copy(update={"indicators": {"exact": 1.0, "GPT_0": 7.0}})
    assert measured(record=record, ranked_by="overall", optional={"GPT_0"}).indicators == {"exact": 1.0}


def test_samples_of_a_task_at_fault_say_nothing():
    partly = SampleResult(index=0, score=0.9, inputs={}, reference=None, answer=None, steps=[])
    record = make_record("0", suite="openagi", outcome=Outcome.PLANNER_FAULT, score=0.0)
    record = record.model_copy(update={"samples": [partly]})
    assert measured(record=record, ranked_by="overall").samples == ()
    scored = make_record("0", suite="openagi", score=0.9).model_copy(update={"samples": [partly]})
    assert measured(record=scored, ranked_by="overall").samples == (0.9,)


# --- Steps ------------------------------------------------------------------------------------------------------------


def ran(*outputs: str, key: str = "k", inputs: str = "i", score: float = 0.5, drops: int = 0) -> Measured:
    """A task whose samples have a chain of two steps each, `s1` and `s2`, with these digests of both outputs."""

    def step(name: str, *, given: str, made: str) -> StepRun:
        given_as, made_as = (
            {"image": ArtefactReference(digest=digest, media_type="image/png")} for digest in (given, made)
        )
        return StepRun(
            step=name, tool=f"tool {name}", expert=f"expert {name}", key=f"{key} {given}", inputs=given_as,
            outputs=made_as, cached=False, seconds=0.0,
        )  # fmt: skip

    steps = tuple(
        dict([("s1", step("s1", given=inputs, made=made)), ("s2", step("s2", given=made, made=f"2 {made}"))][drops:])
        for made in outputs
    )
    return replace(executed(*[score] * len(outputs)), steps=steps)


def by_digits(first: ArtefactReference, second: ArtefactReference) -> float | None:
    """Digests `a.1` and `a.2` are values that differ by 0.1; equal digits are equal values."""
    one, other = (float(reference.digest[-1]) for reference in (first, second))
    return None if one == other else abs(one - other) / 10


ACROSS = Rule(tolerances={"tool s1": 0.2}, differ=by_digits)
WITHIN = Rule(one_class=True, tolerances={"tool s1": 0.2}, differ=by_digits)


@pytest.mark.parametrize(
    ("own", "again", "rule", "differing"),
    [
        (ran("a1"), ran("a1"), WITHIN, None),
        (ran("a1"), ran("b1"), WITHIN, None),
        (ran("a1"), ran("a2"), WITHIN, ("s1", 0.1, 0.0)),
        (ran("a1"), ran("a3"), ACROSS, None),
        (ran("a1"), ran("a4"), ACROSS, ("s1", 0.3, 0.2)),
        # Only what an expert makes of equal inputs is bounded, and only where the profile says so.
        (ran("a1", inputs="x"), ran("a9", inputs="y"), ACROSS, None),
        (ran("a1"), ran("a9"), Rule(differ=by_digits), None),
        # Another batch size has another key.
        (ran("a1", key="half"), ran("a2"), WITHIN, None),
        (ran("a1", key="half"), ran("a4"), WITHIN, ("s1", 0.3, 0.2)),
        # Steps that the owner's record lacks.
        (ran("a1", drops=1), ran("a1"), ACROSS, ("s1", 1.0, 0.2)),
        (ran("a1", drops=2), ran("a1"), WITHIN, ("s1", 1.0, 0.0)),
        (replace(ran("a1"), steps=()), ran("a1"), ACROSS, ("s1", 1.0, 0.2)),
    ],
)
def test_outputs_are_compared_within_and_across_classes(own, again, rule, differing):
    (task,) = compare(own=[own], again=[again], repeatable=True, rule=rule).tasks
    step = task.step and (task.step.step, pytest.approx(task.step.difference), task.step.tolerance)
    assert (task.finding is Finding.SAME, step) == (differing is None, differing)


def test_on_one_class_one_sample_of_many_contradicts_and_across_classes_it_does_not():
    own, again = ran(*["a1"] * 100), ran(*["a1"] * 99, "a9")
    within = compare(own=[own], again=[again], repeatable=True, rule=WITHIN)
    assert not within.agrees
    assert "step s1 (tool s1, expert s1) of sample 100 differs by 0.8, but must be equal" in sentence(within)
    across = compare(own=[own], again=[again], repeatable=True, rule=ACROSS)
    assert across.agrees
    assert (across.tasks[0].differing, across.tasks[0].exact) == (1, 0)
    assert "1 of 100 samples differ, within rounding" in sentence(across)


def test_on_one_class_scores_are_equal_too():
    own, again = ran("a1", score=0.51), ran("a1", score=0.5)
    assert compare(own=[own], again=[again], repeatable=True, rule=ACROSS).agrees
    assert not compare(own=[own], again=[again], repeatable=True, rule=WITHIN).agrees


def test_at_most_so_many_outputs_are_read():
    read = []

    def count(first: ArtefactReference, second: ArtefactReference) -> None:
        read.append(first)

    own, again = (ran(*(f"{name}{number}" for number in range(600))) for name in "ab")
    compare(own=[own] * 4, again=[again] * 4, repeatable=True, rule=replace(WITHIN, differ=count))
    assert len(read) == MOST_OUTPUTS


# --- Whole samples ----------------------------------------------------------------------------------------------------


def sample(scores: list[float], *, plan: Any = RIGHT) -> list[Measured]:
    return [result(str(number), score=score, plan=plan, samples=(score,) * 8) for number, score in enumerate(scores)]


def of(own: list[Measured], again: list[Measured], *, repeatable: bool = False) -> Comparison:
    return compare(own=own, again=again, repeatable=repeatable)


def test_an_honest_planner_that_repeats_itself_is_accepted():
    scores = [number / 20 for number in range(20)]
    comparison = of(sample(scores), sample(scores), repeatable=True)
    assert comparison.agrees
    assert sentence(comparison) == "the results agreed on 20 of 20 tasks that were run again."


def test_rounding_that_leans_to_one_side_is_no_fraud():
    comparison = of(sample([0.5 + 5e-4] * 20), sample([0.5] * 20))
    assert comparison.agrees
    assert comparison.p_value == 1.0


def eights(*, differing: int = 0, better: float = 0.3) -> list[Measured]:
    """Twenty tasks of eight samples each, the first `differing` samples of which score better."""
    scores = [0.5 + (better if number < differing else 0.0) for number in range(160)]
    return [executed(*scores[8 * task : 8 * task + 8], task=str(task)) for task in range(20)]


def test_one_forged_score_with_the_right_plan_is_enough():
    comparison = of(eights(differing=8, better=0.1), eights())
    assert not comparison.agrees
    assert sentence(comparison) == (
        "1 of 20 tasks that were run again gave other results: 0 (the same plan scored differently)."
    )
    assert [task["contradicts"] for task in comparison.as_json()["tasks"]] == [True, *[False] * 19]


def test_a_few_samples_that_another_device_scores_otherwise_are_no_fraud():
    comparison = of(eights(differing=5, better=-0.4), eights())
    assert comparison.agrees
    assert sentence(comparison) == (
        "the results agreed on 20 of 20 tasks that were run again (5 of 160 samples differ, within rounding)."
    )
    assert not any(task["contradicts"] for task in comparison.as_json()["tasks"])
    assert not of(eights(differing=6, better=-0.4), eights()).agrees


@pytest.mark.parametrize(("samples", "most"), [(0, 0), (20, 2), (160, 5), (480, 11)])
def test_how_many_samples_may_differ(samples, most):
    share = 0.01
    assert most_differing(samples) == most

    def more_than(count: int) -> float:
        below = (math.comb(samples, k) * share**k * (1 - share) ** (samples - k) for k in range(count + 1))
        return 1 - sum(below)

    assert more_than(most) <= 0.01
    assert most == 0 or more_than(most - 1) > 0.01


def test_forged_scores_within_the_tolerance_are_found_when_all_lean_to_one_side():
    comparison = of(sample([0.515] * 20), sample([0.5] * 20))
    assert comparison.contradicting == ()
    assert not comparison.agrees
    assert "better, in 0, 1, 2, 3, 4 and 15 more, than chance explains" in sentence(comparison)


def test_a_bundled_planner_s_single_forged_plan_is_found():
    own = [*sample([0.3] * 19), result("19", score=0.31, plan=OTHER)]
    comparison = of(own, sample([0.3] * 20), repeatable=True)
    assert not comparison.agrees
    assert "19 (different plan from a deterministic planner)" in sentence(comparison)


def noisy(rng: random.Random) -> list[Measured]:
    """A planner that finds a good plan for seven of ten requests, anew each time, and sometimes none."""
    found = []
    for number in range(20):
        luck = rng.random()
        if luck < 0.1:
            found.append(fault(str(number)))
        else:
            plan, score = (RIGHT, 0.8) if luck < 0.7 else (OTHER, 0.2)
            found.append(result(str(number), score=score, plan=plan, samples=(score,) * 8))
    return found


def test_an_honest_planner_that_decides_differently_each_time_is_rejected_in_one_of_sixteen_at_most():
    rng = random.Random(11)
    comparisons = [of(noisy(rng), noisy(rng)) for _ in range(400)]
    assert all(comparison.contradicting == () for comparison in comparisons)
    accepted = sum(comparison.agrees for comparison in comparisons)
    assert 15 / 16 - 0.02 <= accepted / 400 < 1.0


def test_such_a_planner_s_chosen_best_runs_are_found():
    """Somebody who asks five times and keeps the best answer."""
    rng = random.Random(7)

    def best() -> list[Measured]:
        return [max(tries, key=lambda one: one.score) for tries in zip(*(noisy(rng) for _ in range(5)), strict=True)]

    assert sum(of(best(), noisy(rng)).agrees for _ in range(100)) <= 10


def test_a_few_better_tasks_call_for_a_larger_sample_and_four_in_that_one_convict():
    def forged(count: int) -> Comparison:
        better = [result(str(number), score=0.9, plan=OTHER) for number in range(count)]
        return of([*better, *sample([0.5] * 20)[count:]], sample([0.5] * 20))

    found = {count: (forged(count).agrees, forged(count).leans) for count in (0, 1, 3, 4)}
    assert found == {0: (True, False), 1: (True, True), 3: (True, True), 4: (False, True)}
    assert (forged(4).contradicting, forged(4).p_value) == ((), 1 / 16)
    assert "the planner made a different plan in 4 of 20 tasks" in sentence(forged(4))


def test_a_contradiction_needs_no_more_tasks():
    own = [result("0", plan=None), *(result(str(number), score=0.9, plan=OTHER) for number in range(1, 20))]
    assert not of(own, sample([0.5] * 20)).leans
