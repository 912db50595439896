"""What owners declare of their planners: checked, kept, added to, never changed, and carried to boards and files."""

import pytest

from leaderboard.boards.contents import content_of
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.results import usage_of
from leaderboard.planners.services import check_planner, enter_planner, validate_planner
from leaderboard.platform.problems import FieldErrors
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_summary
from tests.leaderboard.factories import make_user, planner_data

pytestmark = pytest.mark.django_db
MODEL = {"model_name": "Qwen3-8B", "parameters": 8 * 10**9, "open_weights": True}
PRICES = {"prompt_price": 2.5, "completion_price": 10.0}


def endpoint(**changes):
    values = {"name": "mine", "kind": "endpoint", "bundled_name": "", "endpoint_url": "https://example.org/plan"}
    return planner_data(**{**values, **changes})


def entered(owner, data):
    return enter_planner(validate_planner(owner=owner, data=data))


def test_what_is_declared_wrongly_is_refused_beside_its_field():
    for declared, field in (
        ({"parameters": 0}, "parameters"),
        ({"parameters": 10**18}, "parameters"),
        ({"model_name": "x" * 201}, "model_name"),
        ({"model_name": "a\nb"}, "model_name"),
        ({"prompt_price": -1.0, "completion_price": 1.0}, "prompt_price"),
        ({"prompt_price": 1.0, "completion_price": float("inf")}, "completion_price"),
        ({"prompt_price": 1.0}, "completion_price"),
        ({"cached_price": 1.0}, "prompt_price"),
        ({**PRICES, "cached_price": -1.0}, "cached_price"),
        ({"completion_price": 0.0}, "prompt_price"),
    ):
        assert list(check_planner(endpoint(**declared))) == [field], declared


def test_of_a_planner_that_can_be_looked_into_nothing_is_declared():
    for declared in ({"model_name": "GPT"}, {"parameters": 3}, {"open_weights": False}, PRICES):
        errors = check_planner(planner_data(**declared))
        assert list(errors) == list(declared)
        assert "A bundled planner has no" in errors[next(iter(declared))][0]


def test_it_is_kept_may_be_added_to_and_is_never_changed():
    owner = make_user()
    planner = entered(owner, endpoint(**MODEL))
    assert (planner.model_name, planner.parameters, planner.open_weights) == ("Qwen3-8B", 8 * 10**9, True)
    assert entered(owner, endpoint()) == planner
    entered(owner, endpoint(**PRICES))
    planner.refresh_from_db()
    assert (planner.model_name, planner.prompt_price, planner.completion_price) == ("Qwen3-8B", 2.5, 10.0)
    for other in ({"parameters": 9}, {"open_weights": False}, {"prompt_price": 3.0, "completion_price": 10.0}):
        with pytest.raises(FieldErrors, match="choose another name"):
            entered(owner, endpoint(**other))


def test_a_bundled_planner_with_a_shipped_model_has_the_size_of_its_weights():
    from leaderboard.planners.kinds.bundled import BUNDLED_PLANNERS

    name = next(name for name in BUNDLED_PLANNERS if ":" in name)
    planner = entered(make_user(), planner_data(bundled_name=name))
    assert planner.parameters
    assert planner.open_weights is True
    row = content_of(publish(make_evaluation(planner=planner, suite=make_suite()))).rows[0]
    assert row["parameters"] == planner.parameters
    assert "declared" not in row


def published_row(*, tokens: bool = True, cached: float = 0.0, **declared) -> dict:
    planner = make_planner(owner=make_user("ada"), endpoint_url="https://example.org/plan", **declared)
    summary = make_summary(0.7)
    if tokens:
        summary["usage"] = {
            "prompt_tokens": {"mean": 400.0, "tasks": 30},
            "completion_tokens": {"mean": 25.0, "tasks": 3},
            **({"cached_tokens": {"mean": cached, "tasks": 30}} if cached else {}),
        }
    return content_of(publish(make_evaluation(planner=planner, suite=make_suite(), summary=summary))).rows[0]


def test_the_cost_is_tokens_at_the_declared_prices():
    row = published_row(**MODEL, **PRICES)
    assert row["cost"] == {"usd": 0.00125, "prompt_price": 2.5, "completion_price": 10.0}
    assert row["declared"] is True
    assert row["model_name"] == "Qwen3-8B"


@pytest.mark.parametrize(("declared", "usd"), [({"cached_price": 0.25}, 0.000575), ({}, 0.00125)])
def test_cached_tokens_have_a_price_of_their_own_if_it_is_declared(declared, usd):
    row = published_row(cached=300.0, **PRICES, **declared)
    assert row["cost"] == {"usd": usd, **PRICES, **declared}


def test_tasks_without_cached_tokens_count_as_none_cached():
    def task(prompt, cached):
        return TaskResult(planning_seconds=1.0, prompt_tokens=prompt, completion_tokens=5, cached_tokens=cached)

    usage = usage_of([task(100, 80), task(100, None), task(None, None)])
    assert usage["cached_tokens"] == {"mean": 40.0, "tasks": 2}
    assert "cached_tokens" not in usage_of([task(100, None)])


@pytest.mark.parametrize("told", [{"tokens": False, **PRICES}, {"prompt_price": 2.5}, {}])
def test_without_tokens_or_prices_there_is_no_cost(told):
    row = published_row(**told)
    assert "cost" not in row
    assert "declared" not in row
