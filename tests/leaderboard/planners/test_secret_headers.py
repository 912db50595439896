"""The secret header of an endpoint: kept encrypted, told within a lease only, and found nowhere else."""

import io
import json
import logging

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, Submission
from leaderboard.planners import secret_headers
from leaderboard.planners.models import EndpointSecret, Planner
from leaderboard.platform.encryption import UnreadableSecretError, decrypt, encrypt, encrypt_again
from leaderboard.platform.models import AuditEntry
from leaderboard.queue.workers.tokens import create_worker_token
from leaderboard.submissions import services
from tests.leaderboard.factories import make_submission, make_suite, make_team, make_user
from tests.leaderboard.planners.servers import TOKEN
from tests.leaderboard.platform.api.helpers import ApiClient, client_of, lease_request, worker_client, worker_with

pytestmark = pytest.mark.django_db
CREDENTIAL = TOKEN.removeprefix("Bearer ")
ENDPOINT = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "https://planner.example.org/plan"}
HEADER = {"header_name": "Authorization", "header_value": TOKEN}


def body(**planner) -> dict:
    return {"planner": {"name": "mine", **ENDPOINT, **planner}, "suites": ["openagi"]}


def launching(submission) -> Evaluation:
    evaluation = submission.evaluations.get()
    evaluation.state = EvaluationState.LAUNCHING
    evaluation.save(update_fields=["state"])
    return evaluation


def everything_in_the_database() -> str:
    """Every row of every table, as text."""
    texts = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT "{table}"::text FROM "{table}"')
            texts += [row[0] for row in cursor.fetchall()]
    return "\n".join(texts)


def test_what_is_sealed_is_opened_by_any_of_the_keys_and_by_no_other(settings):
    settings.SECRETS_KEYS = ["old"]
    sealed = encrypt("a secret", purpose="test")
    assert "a secret" not in sealed
    settings.SECRETS_KEYS = ["new", "old"]
    again = encrypt_again(sealed, purpose="test")
    assert decrypt(sealed, purpose="test") == decrypt(again, purpose="test") == "a secret"
    settings.SECRETS_KEYS = ["new"]
    assert decrypt(again, purpose="test") == "a secret"
    with pytest.raises(UnreadableSecretError):
        decrypt(sealed, purpose="test")
    with pytest.raises(UnreadableSecretError):
        decrypt(again, purpose="another")


def test_the_command_seals_all_headers_under_the_first_key(settings):
    settings.SECRETS_KEYS = ["old"]
    make_submission(suite=make_suite(slug="openagi"), **ENDPOINT, **HEADER)
    settings.SECRETS_KEYS = ["new", "old"]
    out = io.StringIO()
    call_command("seal_again", stdout=out)
    assert "1 secret" in out.getvalue()
    settings.SECRETS_KEYS = ["new"]
    assert secret_headers.header_of(Planner.objects.get()).value == TOKEN


def test_the_value_is_in_no_answer_and_in_no_row_of_the_database(caplog):
    caplog.set_level(logging.DEBUG)
    make_suite(slug="openagi")
    owner = make_user()
    api = client_of(owner)
    made = api.post("submissions/", body(**HEADER), Idempotency_Key="k1")
    assert made.status_code == 201, made.json()
    assert made.json()["planner"]["header"] == {"name": "Authorization", "ends_in": "ab12"}
    browser = Client()
    browser.force_login(owner)
    evaluation = made.json()["evaluations"][0]["id"]
    pages = [
        browser.get(path).content.decode()
        for path in ("/submit/endpoint/", "/submissions/", f"/evaluations/{evaluation}/")
    ]
    answers = [api.get(path).content.decode() for path in ("submissions/", f"evaluations/{evaluation}/")]
    told = "\n".join([made.content.decode(), *pages, *answers, everything_in_the_database(), caplog.text])
    assert CREDENTIAL not in told
    assert "s3cr3t" not in told
    assert EndpointSecret.objects.get().sealed in told, "the rows were really read"


def test_others_do_not_even_learn_that_there_is_one_and_of_a_short_value_no_character_is_told():
    make_suite(slug="openagi")
    made = client_of(make_user()).post("submissions/", body(**HEADER)).json()
    shown = ApiClient().get(f"submissions/{made['id']}/").json()
    assert "header" not in shown["planner"]
    assert "ab12" not in str(shown)
    made = client_of(make_user()).post("submissions/", body(header_name="X-Key", header_value="12345678")).json()
    assert made["planner"]["header"] == {"name": "X-Key", "ends_in": ""}


def test_it_stays_until_it_is_replaced_or_removed_on_purpose():
    make_suite(slug="openagi")
    api = client_of(make_user())
    for change, value in [
        (HEADER, TOKEN),
        ({}, TOKEN),
        ({"header_name": "authorization"}, TOKEN),
        ({"header_name": "X-Key", "header_value": "another-value"}, "another-value"),
        ({"remove_header": True}, None),
    ]:
        answer = api.post("submissions/", body(**change))
        assert answer.status_code == 201, answer.json()
        kept = secret_headers.header_of(Planner.objects.get())
        assert (None if kept is None else kept.value) == value


WRONG = [
    ({"header_name": "Host", "header_value": TOKEN}, "header_name", "belongs to HTTP"),
    ({"header_name": "X-A\r\nX-B", "header_value": TOKEN}, "header_name", "letters, digits"),
    ({"header_name": "X-A", "header_value": "12345678\r\nX-B: 1"}, "header_value", "line breaks"),
    ({"header_name": "X-A", "header_value": "short"}, "header_value", "5 characters"),
    ({"header_name": "X-A"}, "header_value", "Give the value of X-A"),
    ({"header_value": TOKEN}, "header_name", "name too"),
    ({**HEADER, "endpoint_url": "http://planner.example.org/plan"}, "header_name", "https://"),
    ({**HEADER, "remove_header": True}, "remove_header", "not both"),
    ({**HEADER, "kind": "bundled", "bundled_name": "gold", "endpoint_url": ""}, "header_name", "no secret header"),
]
"""What is entered, the field that is wrong, and what is said."""


def test_what_cannot_be_is_refused_beside_its_field_and_not_repeated():
    make_suite(slug="openagi")
    api = client_of(make_user())
    for change, field, sentence in WRONG:
        answer = api.post("submissions/", body(**change))
        assert answer.status_code == 400, change
        assert sentence in " ".join(answer.json()["errors"][f"planner.{field}"])
        assert CREDENTIAL not in answer.content.decode()
    assert not Planner.objects.exists()


def fetched(lease: dict):
    """What the attempt's call for the secret header answers."""
    return ApiClient(lease["token"]).get(f"worker/attempts/{lease['attempt']}/secret-header/")


def test_the_operators_worker_fetches_it_by_a_call_of_the_attempt_and_no_lease_holds_it(settings):
    launching(make_submission(suite=make_suite(slug="openagi"), **ENDPOINT, **HEADER))
    lease = worker_client().post("worker/lease/", lease_request())
    assert lease.json()["planner"]["has_header"] is True
    assert TOKEN not in lease.content.decode()
    assert fetched(lease.json()).json() == {"name": "Authorization", "value": TOKEN}
    assert fetched(lease.json())["Cache-Control"] == "no-store"


def test_an_own_worker_fetches_it_if_it_is_its_owners_and_else_leases_nothing():
    suite = make_suite(slug="openagi")
    owner, member = make_user(), make_user()
    team = make_team(owner, member)
    asked = {**body(**HEADER), "suites": [suite.slug], "own_worker": True, "team": team.slug}
    assert client_of(owner).post("submissions/", asked).status_code == 201
    Evaluation.runs.update(state=EvaluationState.LAUNCHING)
    strange = worker_with(create_worker_token(owner=member, name="w").token)
    assert strange.post("worker/lease/", lease_request()).status_code == 204
    assert worker_client().post("worker/lease/", lease_request()).status_code == 204
    theirs = worker_with(create_worker_token(owner=owner, name="w").token)
    assert fetched(theirs.post("worker/lease/", lease_request()).json()).json()["value"] == TOKEN


def test_a_members_own_worker_is_not_told_the_secrets_of_anothers_planner():
    owner, member = make_user(), make_user()
    planner = make_submission(user=owner, suite=make_suite(slug="openagi"), **ENDPOINT, **HEADER).planner
    # No way leads here; were there one, the worker must not be told.
    theirs = make_submission(user=member, suite=make_suite(), kind="bundled")
    Submission.objects.filter(pk=theirs.pk).update(planner=planner)
    services.mark(theirs)
    launching(theirs)
    worker = worker_with(create_worker_token(owner=member, name="w").token)
    assert worker.post("worker/lease/", lease_request()).status_code == 204
    assert Attempt.objects.get().state == "failed"


def test_a_header_that_cannot_be_read_any_more_gives_no_lease_and_says_so(settings):
    evaluation = launching(make_submission(suite=make_suite(slug="openagi"), **ENDPOINT, **HEADER))
    settings.SECRETS_KEYS = ["another key"]
    assert worker_client().post("worker/lease/", lease_request()).status_code == 204
    evaluation.refresh_from_db()
    assert "enter its value again" in evaluation.reason_text
    assert Attempt.objects.get().state == "failed"


class TestChangingItLater:
    @pytest.fixture
    def made(self):
        make_suite(slug="openagi")
        owner = make_user("ada")
        submission = client_of(owner).post("submissions/", body(**HEADER)).json()
        return owner, submission["id"]

    def test_its_owner_replaces_it_and_the_log_tells_who_but_not_what(self, made):
        owner, submission = made
        wanted = {"name": "X-Key", "value": "another-secret-value"}
        answer = client_of(owner).put(f"submissions/{submission}/header/", json.dumps(wanted), "application/json")
        assert (answer.status_code, answer.json()) == (200, {"name": "X-Key", "ends_in": "alue"})
        assert secret_headers.header_of(Planner.objects.get()).value == "another-secret-value"
        entry = AuditEntry.objects.get(action="header_set")
        assert (entry.actor, entry.details) == ("ada", {"header": "X-Key"})
        assert "another-secret" not in everything_in_the_database()

    def test_what_cannot_be_changes_nothing_and_its_owner_removes_it(self, made):
        owner, submission = made
        api, path = client_of(owner), f"submissions/{submission}/header/"
        for wanted in ({"name": "Host", "value": TOKEN}, {"name": "X-Key", "value": "short"}, {}):
            assert api.put(path, json.dumps(wanted), "application/json").status_code == 400, wanted
        assert secret_headers.header_of(Planner.objects.get()).value == TOKEN
        assert client_of(make_user()).delete(path).status_code == 404
        assert EndpointSecret.objects.exists()
        assert [api.delete(path).status_code for _ in range(2)] == [204, 404]
        assert not EndpointSecret.objects.exists()

    def test_the_page_of_submissions_shows_and_removes_it(self, made, client, django_assert_max_num_queries):
        owner, submission = made
        client.force_login(owner)
        with django_assert_max_num_queries(6):
            html = client.get("/submissions/").content.decode()
        assert "Authorization is set, ends in …ab12" in html
        client.post(f"/submissions/{submission}/remove-header/")
        assert "is set" not in client.get("/submissions/").content.decode()
