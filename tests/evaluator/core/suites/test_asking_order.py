"""What a planner learns of a hidden task that it is asked for, without a word of the request: nothing.

The attacker keeps what earlier seasons, whose seeds are published, say of each place and name, and guesses the gold
plan's tools of a new season from them. A request's length and words are out of its sight.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import pytest

from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.core.planner import PlannerReply
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import asking_order, suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import JudgementEvaluator
from evaluator.openagi.season.suite import season_suite
from tests.rings import usual

PAST, NEW = 8, 2
"""Seasons. The order of the suite is read off three of them. A full run has three times as many."""
SUITES = ("openagi", "openagi-season", "toolmini", "toolmini-abstain")

Seen = Sequence[tuple[int, str, tuple[str, ...]]]
"""Of the requests of a season in the order of asking: place, name, and the tools of the gold plan."""
FEATURES: dict[str, Callable[[int, str], object]] = {
    "place": lambda place, _: place,
    "shard of 20": lambda place, _: place // 20,
    "beginning of the name": lambda _, name: name[:2],
    "place and beginning of the name": lambda place, name: (place // 10, name[:1]),
}


def built(slug: str, monkeypatch: pytest.MonkeyPatch) -> Suite:
    if slug != "openagi-season":
        return suite_of(slug)
    monkeypatch.setenv("PLANARENA_SEASON_TASKS", "100")
    return season_suite()


def seed_of(number: int) -> str:
    return f"{number:064x}"


def seen(suite: Suite, *, season: int) -> Seen:
    tasks = suite_on_split(suite=suite, split="hidden", hidden_seed=seed_of(season)).tasks
    return [(place, task.asked_as, tuple(task.gold.tools())) for place, task in enumerate(tasks)]


def accuracy(*, past: Sequence[Seen], new: Sequence[Seen], feature: Callable[[int, str], object]) -> float:
    """The share of exact guesses: the most frequent tools of the feature's value in the past, or of all."""
    counts, every = defaultdict[object, Counter](Counter), Counter[tuple[str, ...]]()
    for place, name, tools in (row for season in past for row in season):
        counts[feature(place, name)][tools] += 1
        every[tools] += 1
    rows = [row for season in new for row in season]
    hits = sum(counts.get(feature(place, name), every).most_common(1)[0][0] == tools for place, name, tools in rows)
    return hits / len(rows)


@pytest.mark.parametrize("slug", usual(SUITES, of=("openagi", "toolmini-abstain")))
def test_place_and_name_of_a_hidden_request_predict_its_plan_no_better_than_the_most_frequent_plan(
    slug, monkeypatch, full
):
    suite = built(slug, monkeypatch)
    count = 3 if full else 1
    past = [seen(suite, season=number) for number in range(count * PAST)]
    new = [seen(suite, season=number) for number in range(count * PAST, count * (PAST + NEW))]
    tools = [row[2] for season in new for row in season]
    base = Counter(tools).most_common(1)[0][1] / len(tools)
    margin = 3 * math.sqrt(base * (1 - base) / len(tools))
    for name, feature in FEATURES.items():
        assert accuracy(past=past, new=new, feature=feature) <= base + margin, name


@pytest.mark.parametrize("slug", usual(SUITES, of=("openagi",)))
def test_the_same_attacker_reads_the_plans_off_the_order_of_the_suite(slug, monkeypatch):
    """What the attack is worth where requests come in the suite's order: it is no straw man."""
    suite = built(slug, monkeypatch)

    def in_order(season: int) -> Seen:
        hidden = suite_on_split(suite=suite, split="hidden", hidden_seed=seed_of(season))
        tasks = [hidden.task(task.key) for task in suite.tasks]
        return [(place, task.asked_as, tuple(task.gold.tools())) for place, task in enumerate(tasks)]

    past, new = [in_order(number) for number in range(3)], [in_order(3)]
    assert accuracy(past=past, new=new, feature=FEATURES["place"]) > 0.4


def test_evaluators_ask_in_the_order_of_names_whatever_order_they_are_given():
    class Noting:
        name = "noting"
        asked: list[str] = []

        def plan(self, request) -> PlannerReply:
            self.asked.append(request.task.id)
            return PlannerReply(plan={"steps": [], "answers": []}, call=PlannerCall(seconds=0.0))

    hidden = suite_on_split(suite=suite_of("toolmini"), split="hidden", hidden_seed=seed_of(1))
    keys = [task.key for task in suite_of("toolmini").tasks]
    records = list(JudgementEvaluator(suite=hidden, judge=ToolJudge()).run(planner=Noting(), tasks=keys))
    assert {record.task for record in records} == set(keys)
    assert [task.asked_as for task in hidden.asked(keys)] == sorted(task.asked_as for task in hidden.tasks)
    assert [task.key for task in hidden.asked(keys)] == asking_order(keys, suite="toolmini", seed=seed_of(1))
    assert set(Noting.asked) == {task.asked_as for task in hidden.tasks}


def test_the_order_is_another_in_each_season_and_suite_and_everybody_computes_it_from_the_seed():
    keys = [str(number) for number in range(50)]
    first = asking_order(keys, suite="openagi", seed=seed_of(1))
    assert first == asking_order(reversed(keys), suite="openagi", seed=seed_of(1))
    assert sorted(first, key=int) == keys
    others = [
        asking_order(keys, suite="openagi", seed=seed_of(2)),
        asking_order(keys, suite="toolmini", seed=seed_of(1)),
        keys,
    ]
    assert first not in others
    # A planner that is asked for a part of the tasks, as when it is resumed, is asked in the same order.
    assert asking_order(keys[:20], suite="openagi", seed=seed_of(1)) == [key for key in first if int(key) < 20]
