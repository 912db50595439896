"""`manage.py anchors`: every bundled planner on every board, once."""

from functools import partial

import pytest
from django.core.management import CommandError, call_command

from evaluator.core.suites.registry import suite_of
from evaluator.episodes.parts import Planned, plan_all
from evaluator.planners.bundled import bundled_planner
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.data import PlannerData
from leaderboard.planners.kinds.bundled import BUNDLED_NAME, BundledKind
from leaderboard.submissions.anchors import anchors_of
from leaderboard.submissions.services import cancel
from tests.leaderboard.factories import make_season, make_suite
from tests.leaderboard.planning import make_toolmini

pytestmark = pytest.mark.django_db


def planners() -> list[str]:
    return sorted(Evaluation.objects.values_list("submission__planner__name", flat=True))


def test_the_anchors_of_a_suite_are_submitted_once(capsys, settings):
    settings.QUOTA_PER_DAY = 1
    make_suite(slug="openagi")
    call_command("anchors")
    wanted = sorted(anchors_of("openagi"))
    assert planners() == wanted
    assert {"gold", "no-op", "rules", "random-valid", *(f"random-valid/{seed}" for seed in range(2, 6))} <= set(wanted)
    assert any("lilliput-planner" in name for name in wanted)
    call_command("anchors", "openagi")
    assert planners() == wanted
    assert "openagi  gold  queued" in capsys.readouterr().out


def test_boards_of_judged_plans_have_floors_of_their_own():
    own = {"parrot", "ask-everything", "gold-minus-one"}
    assert own.isdisjoint(anchors_of("openagi"))
    make_toolmini()
    call_command("anchors", "toolmini", verbosity=0)
    assert {*own, "gold", "no-op", "random-valid", "random-valid/5"} < set(planners())


def test_gold_is_submitted_only_where_there_are_gold_plans():
    assert "gold" in anchors_of("arc-mini")
    assert {"gold", "identity"} & set(anchors_of("arc-111")) == {"identity"}
    wanted = PlannerData.of(name="mine", kind="bundled", bundled_name="gold")
    (refused,) = BundledKind().check_suites(data=wanted, suites=["arc-mini", "arc-111"])["suites"]
    assert refused == "gold answers with gold plans, and arc-111 has none."
    label = dict(BUNDLED_NAME.choices)["gold"]
    assert "Not for " in label
    assert "arc-111" in label


def test_what_was_cancelled_is_submitted_again():
    make_suite(slug="other")
    call_command("anchors", verbosity=0)
    before = len(planners())
    cancel(Evaluation.objects.get(submission__planner__name="gold"))
    call_command("anchors", verbosity=0)
    assert len(planners()) == before + 1
    assert "rules" not in planners(), "it understands OpenAGI's requests only"


def test_wrong_suites_and_seasons_that_are_not_open_are_told(settings):
    make_suite(slug="openagi")
    with pytest.raises(CommandError, match="There is no suite 'unheard-of'; there are: openagi"):
        call_command("anchors", "unheard-of")
    settings.SPLIT = "hidden"
    with pytest.raises(CommandError, match="openagi: No season is open"):
        call_command("anchors")
    make_season("2026-a")
    call_command("anchors", verbosity=0)
    assert set(Evaluation.objects.values_list("season", flat=True)) == {"2026-a"}


def all_tools_of(task, *, suite):
    return suite.context(task=task, offered=frozenset(suite.catalogue.tools))


def test_random_plans_of_another_seed_are_others():
    suite = suite_of("toolmini")
    plans = []
    for name in ("random-valid", "random-valid/2", "random-valid/2"):
        planner, context = bundled_planner(name=name, suite=suite), partial(all_tools_of, suite=suite)
        items = plan_all(planner=planner, suite=suite, tasks=suite.tasks[:20], context=context)
        plans.append({item.task.key: item.plan.plan for item in items if isinstance(item, Planned)})
    assert len(plans[0]) > 10
    assert plans[0] != plans[1] == plans[2]
