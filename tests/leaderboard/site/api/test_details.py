"""What pages show, through the API: boards as they are filtered, plots, snapshots, groups, failures, others, queue."""

import pytest
from django.test import Client

from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult, Visibility
from tests.leaderboard import factories
from tests.leaderboard.pages.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_result,
    make_results,
    make_suite,
    make_summary,
    make_user,
)
from tests.leaderboard.planning import REAL, make_clumsy_evaluation
from tests.leaderboard.site.api.helpers import ApiClient, client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
EVERYBODY = ApiClient()


def get(path: str, **query):
    answer = EVERYBODY.get(path, **query)
    assert answer.status_code == 200, answer.content
    return answer.json()


class TestBoards:
    def planners(self, **query) -> list[str]:
        return [row["owner"] for row in get("boards/openagi/rows/", **query)["rows"]]

    def test_rows_are_filtered_sorted_and_paged_as_on_the_page(self):
        suite, _ = make_board()
        for number in range(20):
            planner = make_planner(owner=make_user(f"user{number:02}"), endpoint_url="https://example.org")
            newest = publish(make_evaluation(planner=planner, suite=suite, summary=make_summary(0.1)))
        whole = get("boards/openagi/rows/")
        assert (whole["snapshot"], whole["total"], whole["matching"]) == (newest.number, 22, 22)
        assert whole["rows"] == newest.content["rows"]
        assert self.planners(kind="bundled") == ["ada", "bea"]
        assert self.planners(q="bea") == ["bea"]
        assert self.planners(sort="overall", per_page=20)[0].startswith("user")
        first = get("boards/openagi/rows/", per_page=20, kind="endpoint", fields="rank,owner")
        assert set(first["rows"][0]) == {"rank", "owner"}
        assert first["next"] is None
        second = get("boards/openagi/rows/", per_page=20)
        assert (second["previous"], len(second["rows"])) == (None, 20)
        last = EVERYBODY.get(second["next"].partition("/api/v1/")[2]).json()
        assert (len(last["rows"]), last["next"], bool(last["previous"])) == (2, None, True)

    @pytest.mark.parametrize(
        "query",
        [
            {"sort": "colour"}, {"size": "tiny"}, {"weights": "ajar"}, {"since": "yesterday"}, {"rows": "some"},
            {"kind": "odd"}, {"page": "0"}, {"page": "last"}, {"page": "-1"}, {"per_page": "7"}, {"own": "yes"},
        ],
        ids=str,
    )  # fmt: skip
    def test_what_the_page_ignores_is_refused(self, query):
        make_board()
        answer = EVERYBODY.get("boards/openagi/rows/", **query)
        assert (answer.status_code, list(answer.json()["errors"])) == (400, list(query))

    def test_all_rows_and_ones_own(self):
        suite, snapshot = make_board()
        ada = make_planner(owner=make_user("eve"), name="twice")
        for overall in (0.2, 0.3):
            publish(make_evaluation(planner=ada, suite=suite, summary=make_summary(overall)))
        assert len(self.planners()) == 3
        assert self.planners(rows="all").count("eve") == 2
        assert self.planners(own="1") == []
        mine = client_of(ada.owner).get("boards/openagi/rows/", own=1).json()
        assert [row["owner"] for row in mine["rows"]] == ["eve"]
        assert snapshot.number < mine["snapshot"]

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

    def test_groups_of_the_plot_have_the_means_of_the_best_planners(self):
        suite = make_suite()
        evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=suite)
        make_results(evaluation, samples=0)
        publish(evaluation)
        means = get("boards/openagi/plots/")["groups"]
        assert {one["facet"] for one in means} == {"base", "degradations"}
        assert all(one["evaluation"] == str(evaluation.pk) and 0 <= one["mean"] <= 1 for one in means)

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

    @pytest.mark.parametrize("part", ["rows", "plots"])
    def test_an_unpublished_board_is_404(self, part):
        make_suite()
        assert EVERYBODY.get(f"boards/openagi/{part}/").status_code == 404


class TestEvaluations:
    def executed(self):
        evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())
        make_results(evaluation, samples=0)
        return evaluation

    def test_scores_by_group(self):
        evaluation = self.executed()
        # What an interval needs: as many scenes, each with a score.
        Evaluation.objects.filter(pk=evaluation.pk).update(samples=12)
        for result in evaluation.results.filter(outcome="scored"):
            scores = [result.score + (-1) ** scene * 0.01 for scene in range(12)]
            TaskResult.objects.filter(pk=result.pk).update(sample_scores=scores)
        told = get(f"evaluations/{evaluation.pk}/breakdowns/")
        assert told["indicators"] == []
        assert {row["facet"] for row in told["scores"]} >= {"degradation", "base"}
        for row in told["scores"]:
            assert row["tasks"] >= 1
            assert row["low"] <= row["mean"] <= row["high"]

    def test_indicators_by_group(self, settings):
        settings.EVALUATOR = REAL
        told = get(f"evaluations/{make_clumsy_evaluation().pk}/breakdowns/")
        assert told["scores"] == []
        assert {row["facet"] for row in told["indicators"]} >= {"level", "group"}
        assert {row["indicator"] for row in told["indicators"]} == {"SE", "IR", "NR", "HR", "CR"}

    def test_failures_by_cause(self):
        told = get(f"evaluations/{self.executed().pk}/failures/")
        assert sum(group["count"] for group in told if group["outcome"] == "planner_fault") == 2
        for group in told:
            assert sum(cause["count"] for cause in group["causes"]) + group["further"] <= group["count"]
            assert all(cause["sentence"] and cause["examples"] for cause in group["causes"])

    def test_others_on_a_task(self):
        evaluation = self.executed()
        other = make_evaluation(planner=make_planner(owner=make_user("bea"), name="other"), suite=evaluation.suite)
        task = evaluation.suite.tasks.get(key="0")
        make_result(evaluation=other, task=task, samples=0)
        assert get(f"evaluations/{evaluation.pk}/others/0/")["count"] == 0, "nothing is published"
        publish(other)
        told = get(f"evaluations/{evaluation.pk}/others/0/")
        assert (told["count"], told["best"][0]["planner"]) == (1, "other")
        assert EVERYBODY.get(f"evaluations/{evaluation.pk}/others/none/").status_code == 404

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

    @pytest.mark.parametrize("part", ["breakdowns/", "failures/", "others/0/", "place/"])
    def test_what_is_not_public_is_there_for_its_owner_only(self, part):
        evaluation = self.executed()
        Submission.objects.filter(pk=evaluation.submission_id).update(visibility=Visibility.PRIVATE)
        path = f"evaluations/{evaluation.pk}/{part}"
        assert EVERYBODY.get(path).status_code == 404
        assert client_of(factories.make_user()).get(path).status_code == 404
        assert client_of(evaluation.submission.submitted_by).get(path).status_code == 200


def test_bundled_planners_are_listed_as_the_form_offers_them():
    from leaderboard.planners.kinds import BUNDLED_PLANNERS

    told = get("bundled-planners/")
    assert [one["name"] for one in told] == list(BUNDLED_PLANNERS)
    assert all(one["description"] for one in told)
