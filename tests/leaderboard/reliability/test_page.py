"""The page of a reliability profile: figures, gaps, what its owner may do, and who sees it."""

import pytest
from django.test import Client
from django.urls import reverse

from leaderboard.evaluations.models import Evaluation
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.reliability.members import Condition
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_results, make_suite
from tests.leaderboard.factories import make_user
from tests.leaderboard.reliability.factories import make_profile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


@pytest.fixture
def evaluation():
    made = make_evaluation(planner=make_planner(owner=make_user("ada"), name="word-reader"), suite=make_suite())
    make_results(made, faults=False, samples=1, upto=40)
    return made


def page_of(evaluation: Evaluation, *, by: str = "", name: str = "reliability") -> tuple[int, str]:
    client = Client()
    if by:
        client.force_login(evaluation.submission.submitted_by if by == "owner" else make_user(by))
    response = client.get(reverse(f"evaluations:{name}", args=[evaluation.pk]))
    return response.status_code, response.content.decode()


def test_a_measured_profile_shows_dimensions_plots_tables_and_worst_tasks(evaluation):
    profile = make_profile(evaluation)
    status, page = page_of(evaluation)
    assert status == 200
    for name, label in (("success", "Success"), ("consistency", "Consistency"), ("robustness", "Robustness")):
        assert label in page
        assert f"{profile.figures['dimensions'][name]['mean']:.3f}" in page
    for plot in ("consistency", "ratios", "diagram", "coverage"):
        assert f'id="svg-title-{plot}"' in page
    worst = profile.figures["robustness"][0]["worst"][0]
    member = evaluation.members.get(perturbation=profile.figures["robustness"][0]["name"])
    assert reverse("evaluations:task", args=[member.pk, worst]) in page
    assert reverse("evaluations:task", args=[evaluation.pk, profile.figures["unsteady"][0]]) in page
    assert "Measure reliability" not in page


def test_gaps_are_named_with_their_reason_and_nothing_stands_in_their_place(evaluation):
    profile = make_profile(evaluation, has_confidence=False, missing=[Condition("", 5), Condition("renamed-tools", 1)])
    profile.figures["unavailable"] = [{"name": "paraphrased", "label": "paraphrased requests", "why": "No generator."}]
    profile.save()
    _, page = page_of(evaluation)
    assert 'run 5: <span class="break">No worker took its tasks.' in page
    assert "renamed tools: " in page
    assert "Over 4 runs of the same requests" in page
    assert "Paraphrased requests: No generator." in page
    assert "No answer came with a confidence." in page
    assert 'id="svg-title-diagram"' not in page
    assert "self-hosted" not in page
    OwnWorkerRun.objects.create(evaluation=evaluation)
    assert "Nobody has verified them" in page_of(evaluation)[1]


def test_only_its_owner_reads_of_a_profile_that_was_not_asked_for(evaluation):
    assert page_of(evaluation)[0] == 404
    status, page = page_of(evaluation, by="owner")
    assert status == 200
    assert "Not measured yet." in page
    assert "Measure it" in page_of(evaluation, by="owner", name="detail")[1]
    assert "Measure it" not in page_of(evaluation, name="detail")[1]


def test_figures_of_another_release_are_not_shown_as_if_they_were_of_this_one(evaluation):
    profile = make_profile(evaluation)
    profile.figures["version"] = "reliability/0"
    profile.save()
    status, page = page_of(evaluation)
    assert status == 200
    assert "The figures are being computed." in page
