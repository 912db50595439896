"""What pages show, through the API: boards as they are filtered, plots, snapshots, groups, failures, others, queue."""

import pytest
from django.test import Client

from leaderboard.boards.services import publish
from tests.leaderboard import factories
from tests.leaderboard.pages.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
    make_summary,
    make_user,
)
from tests.leaderboard.site.api.helpers import ApiClient, client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
EVERYBODY = ApiClient()


def get(path: str, **query):
    answer = EVERYBODY.get(path, **query)
    assert answer.status_code == 200, answer.content
    return answer.json()


class TestBoards:
    def test_rows_are_filtered_sorted_and_paged_as_on_the_page(self):
        suite, _ = make_board()
        for number in range(20):
            planner = make_planner(owner=make_user(f"user{number:02}"), endpoint_url="https://example.org")
            newest = publish(make_evaluation(planner=planner, suite=suite, summary=make_summary(0.1)))
        whole = get("boards/openagi/rows/")
        assert (whole["snapshot"], whole["total"], whole["matching"]) == (newest.number, 22, 22)
        assert whole["rows"] == newest.content["rows"]
        assert [row["owner"] for row in get("boards/openagi/rows/", kind="bundled")["rows"]] == ["ada", "bea"]
        first = get("boards/openagi/rows/", per_page=20, kind="endpoint", fields="rank,owner")
        assert set(first["rows"][0]) == {"rank", "owner"}
        assert first["next"] is None
        second = get("boards/openagi/rows/", per_page=20)
        assert (second["previous"], len(second["rows"])) == (None, 20)
        last = EVERYBODY.get(second["next"].partition("/api/v1/")[2]).json()
        assert (len(last["rows"]), last["next"], bool(last["previous"])) == (2, None, True)

    def test_what_the_page_ignores_is_refused(self):
        make_board()
        for query in ({"sort": "colour"}, {"page": "0"}, {"page": "last"}, {"page": "-1"}, {"per_page": "7"}):
            answer = EVERYBODY.get("boards/openagi/rows/", **query)
            assert (answer.status_code, list(answer.json()["errors"])) == (400, list(query))

    def test_plots_are_numbers_with_the_best_and_the_front(self):
        suite = make_suite()
        for name, overall, seconds in (("quick", 0.3, 1.0), ("slow", 0.6, 5.0), ("dear", 0.5, 9.0)):
            summary = {**make_summary(overall), "usage": {"seconds": {"mean": seconds, "tasks": 30}}}
            publish(make_evaluation(planner=make_planner(owner=make_user(name)), suite=suite, summary=summary))
        told = get("boards/openagi/plots/")
        assert told["metric"] == "overall"
        assert [(one["owner"], one["on_front"]) for one in told["seconds"]] == [
            ("quick", True), ("slow", True), ("dear", False),
        ]  # fmt: skip
        assert told["cost"] == told["tokens"] == []
        assert sum(one["is_best"] for one in told["over_time"]) >= 1
        assert len(told["over_time"]) == 3

    def test_every_snapshot_is_listed_and_answers_the_same_for_ever(self):
        suite, second = make_board()
        listed = get("boards/openagi/snapshots/")["results"]
        assert [row["number"] for row in listed] == [second.number, second.number - 1]
        assert "content" not in listed[0]
        answer = EVERYBODY.get(f"boards/openagi/snapshots/{second.number - 1}/")
        assert [row["owner"] for row in answer.json()["content"]["rows"]] == ["ada"]
        tag = answer.headers["ETag"]
        address = f"/api/v1/boards/openagi/snapshots/{second.number - 1}/"
        again = Client().get(address, headers={"If-None-Match": tag})
        assert again.status_code == 304
        assert EVERYBODY.get("boards/openagi/snapshots/99/").status_code == 404
        assert EVERYBODY.get("boards/none/snapshots/").status_code == 404
        assert get(f"suites/{suite.slug}/")["tasks"] == 185


class TestEvaluations:
    def executed(self):
        evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())
        make_results(evaluation, samples=0)
        return evaluation

    def test_results_are_filtered_by_what_tasks_are(self):
        evaluation = self.executed()
        path = f"evaluations/{evaluation.pk}/results/"

        def keys(**query) -> set[str]:
            return {row["task"] for row in get(path, page_size=500, **query)["results"]}

        tasks = {task.key: task for task in evaluation.suite.tasks.all()}
        for name in ("base", "language"):
            value = next(task.attributes[name] for task in tasks.values() if task.attributes.get(name))
            assert keys(**{name: value}) == {k for k, task in tasks.items() if task.attributes.get(name) == value}
        some = next(task for task in tasks.values() if task.attributes.get("degradations"))
        degradation = some.attributes["degradations"][0]
        assert keys(degradation=degradation) == {
            key for key, task in tasks.items() if degradation in (task.attributes.get("degradations") or ())
        }
        assert keys(reason="invalid_plan") == {"3", "9"}
        assert keys(structure=some.structure) == {k for k, task in tasks.items() if task.structure == some.structure}
        assert keys(q="GERMAN") == {k for k, task in tasks.items() if "german" in task.text.lower()} != set()
        for name in ("reason", "structure", "degradation", "base", "language"):
            assert EVERYBODY.get(path, **{name: "odd"}).status_code == 400, name

    def test_the_place_in_the_queue_is_told_while_it_waits(self):
        first, second = factories.make_evaluation(), factories.make_evaluation()
        told = get(f"evaluations/{second.pk}/place/")
        assert told["place"] >= 1
        assert told["why"]
        done = make_evaluation(planner=make_planner(owner=make_user("zoe")), suite=make_suite())
        assert set(get(f"evaluations/{done.pk}/place/").values()) == {None}
        assert EVERYBODY.get("queue/").status_code == 401
        assert client_of(first.submission.submitted_by).get("queue/").json()["evaluations"] == 2


def test_bundled_planners_are_listed_as_the_form_offers_them():
    from leaderboard.planners.kinds import BUNDLED_PLANNERS

    told = get("bundled-planners/")
    assert [one["name"] for one in told] == list(BUNDLED_PLANNERS)
    assert all(one["description"] for one in told)
