"""What pages show of verifications."""

import re

import pytest
from django.test import Client

from evaluator.records import Outcome
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from tests.leaderboard.factories import make_evaluation, make_record, make_suite, make_user
from tests.leaderboard.queue.verifying import completed_own, rerun_of, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


@pytest.fixture
def suite() -> Suite:
    return make_suite(runnable=30)


def page(client: Client, evaluation: Evaluation) -> str:
    response = client.get(f"/evaluations/{evaluation.pk}/")
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode())


def logged_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def offers_verifying(html: str, evaluation: Evaluation) -> bool:
    return f'action="/evaluations/{evaluation.pk}/verify/"' in html


def test_page_and_board_follow_the_verification(suite):
    run(make_evaluation(suite=suite))
    mark = "run by its owner, verified"
    own = completed_own(suite=suite)
    assert mark not in Client().get(f"/boards/{suite.slug}/").content.decode()
    html = page(Client(), own)
    assert "It is ranked only after a worker of this site has repeated a random sample" in html
    assert "<strong>Under way.</strong> 20 tasks to repeat." in html
    again = run(rerun_of(own))
    html = page(Client(), own)
    assert "self-hosted worker and verified: a worker of this site repeated a sample" in html
    assert "<strong>Agrees.</strong>" in html
    assert "The results agreed on 20 of 20 tasks that were run again." in html
    assert f'href="/evaluations/{again.pk}/"' in html
    assert "20 tasks compared" in html
    html = Client().get(f"/boards/{suite.slug}/").content.decode()
    (row,) = (row for row in html.split("<tr>") if mark in row)
    assert html.count(mark) == 1
    assert str(own.pk) in row


def test_what_contradicts_comes_first_and_leads_to_both_results(suite):
    def forged(task: str):
        return make_record(task, suite=suite.slug, score=0.9 if int(task) >= 15 else 0.5)

    own = completed_own(suite=suite, answer=forged)
    again = run(rerun_of(own))
    html = page(Client(), own)
    assert "<strong>Does not agree.</strong>" in html
    findings = re.findall(r"the same plan scored differently</strong>|<td>the same</td>", html)
    forged_count = sum("scored differently" in finding for finding in findings)
    assert len(findings) == 20
    assert 1 <= forged_count <= 15
    assert all("scored differently" in finding for finding in findings[:forged_count])
    keys = re.findall(rf'href="/evaluations/{again.pk}/tasks/(\w+)/"', html)
    assert sorted(keys) == sorted(again.verification.tasks)
    for evaluation in (own, again):
        assert Client().get(f"/evaluations/{evaluation.pk}/tasks/{keys[0]}/").status_code == 200


def test_the_page_of_a_verification_says_what_it_is_and_has_its_tasks_only(suite):
    own = completed_own(suite=suite)
    again = rerun_of(own)
    html = page(logged_in(own.submission.submitted_by), again)
    assert "This is a verification: 20 tasks of" in html
    assert f'href="/evaluations/{own.pk}/"' in html
    assert '<progress max="20"' in html
    assert 'id="metrics"' not in html, "twenty tasks are no score of a suite"
    assert "/cancel/" not in html
    outside = next(str(number) for number in range(30) if str(number) not in again.verification.tasks)
    assert Client().get(f"/evaluations/{again.pk}/tasks/{outside}/").status_code == 404


def test_only_the_owner_and_staff_are_offered_another_one_when_there_may_be_one(suite):
    own = completed_own(suite=suite)
    owner, eve, staff = logged_in(own.submission.submitted_by), logged_in(make_user("eve")), make_user("staff")
    staff.is_staff = True
    staff.save()
    assert not offers_verifying(page(owner, own), own), "one is under way"
    run(rerun_of(own), answer=lambda task: make_record(task, suite=suite.slug, outcome=Outcome.INFRA_FAULT))
    assert offers_verifying(page(owner, own), own)
    assert offers_verifying(page(logged_in(staff), own), own)
    assert not offers_verifying(page(eve, own), own)
    assert not offers_verifying(page(Client(), own), own)
    assert eve.post(f"/evaluations/{own.pk}/verify/").status_code == 403
    answer = owner.post(f"/evaluations/{own.pk}/verify/", follow=True)
    assert "Verification has started." in answer.content.decode()
    answer = owner.post(f"/evaluations/{own.pk}/verify/", follow=True)
    assert "A verification is in progress." in answer.content.decode()
    assert own.verifications.count() == 2
