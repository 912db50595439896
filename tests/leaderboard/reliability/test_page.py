"""The page of a reliability profile: figures, gaps, what its owner may do, and who sees it."""

import pytest
from django.test import Client
from django.urls import reverse

from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.reliability.members import Condition
from tests.leaderboard.factories import make_user
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_results, make_suite
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


def post(evaluation: Evaluation, *, name: str):
    client = Client()
    client.force_login(evaluation.submission.submitted_by)
    return client.post(reverse(f"evaluations:{name}", args=[evaluation.pk]), follow=True).content.decode()


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


def test_the_page_says_on_how_many_data_points_runs_are_compared_and_what_the_suite_cannot_have(evaluation):
    profile = make_profile(evaluation)
    why = "No generator makes its requests, so that nothing can reword them and keep their goal."
    gap = {"name": "paraphrased", "label": "paraphrased requests", "why": why}
    profile.figures |= {"samples": 1, "unavailable": [gap]}
    profile.save()
    Evaluation.objects.filter(pk=evaluation.pk).update(samples=8)
    _, page = page_of(evaluation)
    assert "Data points" in page
    assert "Not available for this suite" in page
    assert f"Paraphrased requests: {why}" in page
    assert "self-hosted" not in page
    OwnWorkerRun.objects.create(evaluation=evaluation)
    assert "Nobody has verified them" in page_of(evaluation)[1]


def test_gaps_are_named_with_their_reason_and_nothing_stands_in_their_place(evaluation):
    make_profile(evaluation, has_confidence=False, missing=[Condition("", 5), Condition("renamed-tools", 1)])
    _, page = page_of(evaluation)
    assert 'run 5: <span class="break">No worker took its tasks.' in page
    assert "renamed tools: " in page
    assert "Over 4 runs of the same requests" in page
    assert "No answer came with a confidence." in page
    assert 'id="svg-title-diagram"' not in page


def test_only_its_owner_reads_of_a_profile_that_was_not_asked_for(evaluation):
    assert page_of(evaluation)[0] == 404
    status, page = page_of(evaluation, by="owner")
    assert status == 200
    assert "Not measured yet." in page
    assert "Measure it" in page_of(evaluation, by="owner", name="detail")[1]
    assert "Measure it" not in page_of(evaluation, name="detail")[1]


def test_a_profile_is_seen_by_whoever_sees_its_evaluation(evaluation):
    profile = make_profile(evaluation)
    Submission.objects.filter(pk=evaluation.submission_id).update(visibility="private")
    addresses = [reverse("evaluations:reliability", args=[evaluation.pk])]
    addresses += [reverse("evaluations:detail", args=[pk]) for pk in evaluation.members.values_list("pk", flat=True)]
    addresses += [reverse("api:reliability", args=[evaluation.pk])]
    assert {Client().get(address).status_code for address in addresses} == {404}
    owner = Client()
    owner.force_login(profile.requested_by)
    assert {owner.get(address).status_code for address in addresses} == {200}


def test_figures_of_another_release_are_not_shown_as_if_they_were_of_this_one(evaluation):
    profile = make_profile(evaluation)
    profile.figures["version"] = "reliability/0"
    profile.save()
    status, page = page_of(evaluation)
    assert status == 200
    assert "The figures are being computed." in page
