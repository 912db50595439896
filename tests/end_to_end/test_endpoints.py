"""A misbehaving endpoint through the API: each fault costs its own task, and an unavailable one can be resumed."""

import httpx
import pytest

from tests.end_to_end.arena import Arena, runnable_count, sign_up
from tests.end_to_end.endpoints import Misbehaving, serving

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

FAULTS = {
    "0": ("response_too_large", "more than 1024 KiB"),
    "1": ("invalid_response", "is not JSON; it begins with '<!doctype html>"),
    "2": ("invalid_response", "is not JSON"),
    "3": ("invalid_plan", 'Plan step 1 ("Time Travel"): there is no such tool'),
    "4": ("invalid_plan", "cycle"),
    "5": ("invalid_plan", 'input "image" is text'),
    "6": ("planner_timeout", "within 2 seconds"),
}


def planners(arena: Arena) -> list[str]:
    """Those on the board."""
    return [row["planner"] for row in arena.get("boards/openagi/")["content"]["rows"]]


def test_faults_cost_their_own_task_and_an_unavailable_endpoint_can_be_resumed(arena):
    token = sign_up(arena, "endpoint-owner")
    api = httpx.Client(base_url=f"{arena.url}/api/v1/", headers={"Authorization": f"Bearer {token}"}, timeout=30)

    def state_is(*states):
        def check():
            found = api.get(f"evaluations/{evaluation}/").json()
            return found if found["state"] in states else None

        return check

    with serving(Misbehaving) as url, api:
        planner = {"name": "misbehaving", "kind": "endpoint", "endpoint_url": url, "timeout_seconds": 2}
        made = api.post("submissions/", json={"planner": planner, "suites": ["openagi"]})
        assert made.status_code == 201, made.text
        evaluation = made.json()["evaluations"][0]["id"]

        held = arena.wait_for(state_is("on_hold", "completed", "failed"), what="the evaluation on hold")
        assert held["state"] == "on_hold"
        rows = {row["task"]: row for row in arena.results(evaluation)}
        for task, (reason, says) in FAULTS.items():
            assert (rows[task]["outcome"], rows[task]["reason"], rows[task]["score"]) == ("planner_fault", reason, 0.0)
            assert says in rows[task]["reason_text"]
        assert (rows["7"]["outcome"], rows["7"]["reason"]) == ("infra_fault", "endpoint_unavailable")
        assert rows["7"]["score"] is None
        others = [row for task, row in rows.items() if task not in FAULTS and task != "7"]
        assert {row["outcome"] for row in others} == {"scored"}
        assert sum(row["outcome"] == "scored" for row in others) == runnable_count() - len(FAULTS) - 1
        assert "misbehaving" not in planners(arena)

        Misbehaving.mended = True
        before = dict(Misbehaving.asked)
        assert api.post(f"evaluations/{evaluation}/resume/").status_code in {200, 202}
        arena.wait_for(state_is("completed"), what="the resumed evaluation completed")
        assert {task for task, times in Misbehaving.asked.items() if times != before[task]} == {"7"}
        after = {row["task"]: row for row in arena.results(evaluation)}
        assert after["7"]["outcome"] == "scored"
        others = set(after) - {"7"}
        assert {task: after[task] for task in others} == {task: rows[task] for task in set(rows) - {"7"}}
        # Who is not signed in may get a board of a second ago.
        arena.wait_for(lambda: "misbehaving" in planners(arena), what="its row on the board", seconds=5)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"planner": {"name": "x", "kind": "endpoint"}, "suites": ["openagi"]}, "planner.endpoint_url"),
        ({"planner": {"name": "x", "kind": "magic"}, "suites": ["openagi"]}, "planner.kind"),
        (
            {"planner": {"name": "x", "kind": "endpoint", "endpoint_url": "ftp://x/"}, "suites": ["openagi"]},
            "planner.endpoint_url",
        ),
        ({"planner": {"name": "x", "kind": "bundled", "bundled_name": "gold"}, "suites": ["nope"]}, "suites"),
        ({"planner": {"name": "x", "kind": "bundled", "bundled_name": "gold"}}, "suites"),
        ({"suites": ["openagi"]}, "planner"),
    ],
)
def test_a_malformed_body_is_400_with_the_fields_name(arena, api_token, body, field):
    answer = httpx.post(f"{arena.url}/api/v1/submissions/", json=body, headers={"Authorization": f"Bearer {api_token}"})
    assert answer.status_code == 400
    assert field in answer.json()["errors"]


@pytest.fixture(scope="module")
def api_token(arena):
    return sign_up(arena, "careless")


def test_a_body_that_is_not_json_is_400(arena, api_token):
    headers = {"Authorization": f"Bearer {api_token}", "Content-Type": "application/json"}
    assert httpx.post(f"{arena.url}/api/v1/submissions/", content=b"{", headers=headers).status_code == 400


def test_the_schema_is_served(arena):
    answer = httpx.get(f"{arena.url}/api/v1/schema/")
    assert answer.status_code == 200
    assert "/api/v1/submissions/" in answer.text
