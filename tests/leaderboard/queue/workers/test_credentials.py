"""The credentials of workers: what each does, what it does not, and when it ends."""

import hashlib
import io
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.conf import settings as site_settings
from django.utils import timezone
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from evaluator.core.values import Artefact, MediaType
from gpu_jobs import bundles
from gpu_jobs.launchers.pools import pools_from
from leaderboard.catalog import hidden_data
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState
from leaderboard.evaluations.results.objects import server_store
from leaderboard.queue.launching import LocalEnrolments, PoolEnrolments
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import LogChunk, WorkerSession, WorkerToken
from leaderboard.queue.workers.sessions import VALID, open_session
from leaderboard.queue.workers.tokens import create_worker_token, mint_launch_token
from tests.leaderboard.factories import make_evaluation, make_record, make_season, make_suite, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, lease_request, session_of, worker_client, worker_with
from tests.leaderboard.queue.workers.test_tokens import lease, leased

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
HOUR = timedelta(hours=1)


def launching(*, split: str = "public", **more) -> Evaluation:
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING, **more)
    evaluation.split = split
    evaluation.season = make_season() if split == "hidden" else None
    evaluation.save(update_fields=["split", "season"])
    return evaluation


def code_of(response) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


def attempt_of(evaluation: Evaluation) -> SimpleNamespace:
    """A live attempt of the evaluation, with a client that has its credential."""
    told = worker_client().post("worker/lease/", lease_request(evaluation=str(evaluation.pk))).json()
    path = f"worker/attempts/{told['attempt']}/"
    return SimpleNamespace(told=told, path=path, client=ApiClient(told["token"]), id=told["attempt"])


def test_a_session_is_short_and_kept_as_a_digest_only():
    opened = open_session(enrolment=site_settings.WORKER_TOKEN)
    kept = WorkerSession.objects.get()
    assert kept.token_hash == hashlib.sha256(opened.token.encode()).hexdigest()
    assert opened.token.startswith("pas_")
    assert 3500 < opened.expires_in <= 3600
    assert abs(kept.expires_at - timezone.now() - VALID) < timedelta(minutes=1)


def test_an_enrolment_token_leases_nothing_and_an_old_worker_reads_what_to_do():
    launching()
    for enrolment in (site_settings.WORKER_TOKEN, create_worker_token(owner=None, name="cluster").token):
        refused = lease(ApiClient(enrolment))
        assert code_of(refused) == (403, "session_needed")
        assert "update its checkout or image" in refused.json()["detail"]
    assert not Attempt.objects.exists()


def test_a_session_opens_no_session_is_no_attempt_s_credential_and_ends_until_the_enrolment_opens_another():
    attempt, evaluation = attempt_of(launching()), launching()
    session = ApiClient(session_of(site_settings.WORKER_TOKEN))
    assert code_of(session.post("worker/session/")) == (403, "enrolment_refused")
    assert session.post(f"{attempt.path}heartbeat/").status_code == 403
    WorkerSession.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert code_of(lease(session)) == (403, "session_over")
    assert leased(worker_client()) == str(evaluation.pk)


def test_sessions_end_when_the_operator_changes_the_installation_s_token(settings):
    worker = worker_client()
    for token in ("another-token-of-the-operator", ""):
        settings.WORKER_TOKEN = token
        assert code_of(lease(worker)) == (403, "session_over")
    assert code_of(ApiClient("x").post("worker/session/")) == (403, "enrolment_refused")


def test_a_session_is_bound_to_what_the_worker_asked_for():
    first, second = launching(), launching()
    bound = open_session(enrolment=site_settings.WORKER_TOKEN, evaluation_id=second.pk)
    assert leased(ApiClient(bound.token)) == str(second.pk)
    assert leased(ApiClient(bound.token)) is None
    none = open_session(enrolment=site_settings.WORKER_TOKEN, suites=["another"])
    assert leased(ApiClient(none.token)) is None
    both = open_session(enrolment=site_settings.WORKER_TOKEN, suites=[first.suite.slug])
    assert leased(ApiClient(both.token)) == str(first.pk)


def test_a_user_s_token_has_a_bounded_number_of_sessions(monkeypatch):
    monkeypatch.setattr("leaderboard.queue.workers.sessions._MOST_OF_A_USER", 2)
    token = create_worker_token(owner=make_user(), name="w").token
    first, *others = [worker_with(token) for _ in range(3)]
    assert code_of(lease(first)) == (403, "session_over")
    assert [lease(one).status_code for one in others] == [204, 204]
    assert lease(worker_client()).status_code == 204


class TestLaunches:
    @pytest.fixture(autouse=True)
    def _pool(self, settings):
        settings.WORKER_POOLS = pools_from('[{"name": "judging", "takes": ["judged"]}]')

    def test_proposing_the_credential_of_another_s_attempt_gives_its_lease_to_nobody_else(self):
        other = launching()
        proposed = "p" * 43
        told = worker_client().post("worker/lease/", lease_request(evaluation=str(other.pk), token=proposed))
        assert told.json()["token"] == proposed
        worker = worker_with(PoolEnrolments().mint(pool="judging"))
        assert worker.post("worker/lease/", lease_request(token=proposed)).status_code == 204
        assert worker_client().post("worker/lease/", lease_request(token=proposed)).json() == told.json()

    def test_a_worker_of_a_pool_leases_what_the_pool_takes_and_nothing_once_the_operator_has_removed_it(self, settings):
        judged, executed = (make_suite(slug=slug) for slug in ("judged", "executed"))
        judged.conditions = {**judged.conditions, "experts": False}
        judged.save()
        other, mine = launching(suite=executed), launching(suite=judged)
        token = PoolEnrolments().mint(pool="judging")
        assert leased(worker_with(token)) == str(mine.pk)
        assert leased(worker_with(token)) is None
        named = worker_with(token).post("worker/lease/", lease_request(evaluation=str(other.pk)))
        assert (named.status_code, named.headers["X-Work-Left"]) == (204, "0")
        settings.WORKER_POOLS = ()
        launching(suite=judged)
        assert leased(worker_with(token)) is None

    def test_a_worker_of_the_local_pool_leases_every_suite_and_one_that_is_bound_to_a_suite_that_one_only(self):
        mine, other = launching(suite=make_suite(slug="one")), launching(suite=make_suite(slug="two"))
        token = LocalEnrolments().mint(name="local-1")
        WorkerToken.objects.update(suite="one")
        assert leased(worker_with(token)) == str(mine.pk)
        assert leased(worker_with(token)) is None
        assert code_of(ApiClient(token).post("worker/session/", {"suites": ["two"]})) == (403, "not_covered")
        third = launching(suite=mine.suite)
        free = worker_with(LocalEnrolments().mint(name="local-2"))
        assert {leased(free), leased(free)} == {str(other.pk), str(third.pk)}

    def test_a_launch_s_token_is_kept_as_a_digest_and_ends_with_its_expiry_as_do_its_sessions(self):
        token = mint_launch_token(name="launch", valid=HOUR / 2)
        kept = WorkerToken.objects.get()
        assert kept.token_hash == hashlib.sha256(token.encode()).hexdigest()
        opened = open_session(enrolment=token)
        assert opened.expires_in <= 1800, "no session outlives its enrolment"
        WorkerToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        assert code_of(ApiClient(token).post("worker/session/")) == (403, "enrolment_expired")

    def test_a_pool_s_token_is_fresh_for_half_of_its_time_and_withdrawn_it_opens_nothing_and_its_sessions_end(self):
        enrolments = PoolEnrolments()
        token = enrolments.mint(pool="judging")
        worker = worker_with(token)
        assert enrolments.is_fresh(pool="judging", token=token)
        for pool, text in (("another", token), ("judging", "paw_unknown"), ("judging", "")):
            assert not enrolments.is_fresh(pool=pool, token=text)
        expires_at = WorkerToken.objects.get().expires_at
        WorkerToken.objects.update(expires_at=timezone.now() + timedelta(days=3))
        assert not enrolments.is_fresh(pool="judging", token=token)
        WorkerToken.objects.update(expires_at=expires_at)
        enrolments.withdraw(token)
        assert not enrolments.is_fresh(pool="judging", token=token)
        assert code_of(lease(worker)) == (403, "session_over")
        assert code_of(ApiClient(token).post("worker/session/")) == (403, "enrolment_refused")


ATTEMPT_CALLS = [
    ("post", "heartbeat/"), ("post", "objects/missing/"), ("post", "objects/"), ("put", f"objects/{'0' * 64}/"),
    ("post", "results/"), ("post", "log/"), ("post", "finish/"), ("post", "fail/"),
    ("get", f"checkpoints/{'0' * 64}/"), ("get", "seed/"), ("get", "secret-header/"),
]  # fmt: skip


def call(client: ApiClient, method: str, path: str):
    return client.put(path, b"x", "image/png") if method == "put" else getattr(client, method)(path)


def test_an_attempt_s_calls_take_its_own_credential_and_no_other(settings):
    settings.HIDDEN_SEED = "5eed5eed" * 8
    attempt, other = attempt_of(launching(split="hidden")), attempt_of(launching(split="hidden"))
    launch = LocalEnrolments().mint(name="local-1")
    wrong = (site_settings.WORKER_TOKEN, session_of(site_settings.WORKER_TOKEN), other.told["token"], launch)
    for method, path in ATTEMPT_CALLS:
        refused = [call(ApiClient(one), method, attempt.path + path).status_code for one in wrong]
        assert refused == [403] * len(wrong), path
        assert call(ApiClient(), method, attempt.path + path).status_code == 401, path
        assert call(attempt.client, method, attempt.path + path).status_code != 403, path


BODIES = {
    "heartbeat/": {}, "objects/missing/": {"digests": []}, "results/": {"results": []},
    "log/": {"first": 0, "lines": []}, "finish/": {"results": []}, "fail/": {"reason": "none"},
}  # fmt: skip


def test_an_attempt_s_credential_ends_with_the_attempt(settings):
    settings.HIDDEN_SEED = "5eed5eed" * 8
    attempt = attempt_of(launching(split="hidden"))
    assert leases.lose(attempt_id=attempt.id, detail="gone")
    for method, path in ATTEMPT_CALLS:
        if path in BODIES:
            ended = attempt.client.post(attempt.path + path, BODIES[path])
        elif path == "objects/":
            ended = attempt.client.post_bytes(attempt.path + path, b"", bundles.CONTENT_TYPE)
        else:
            ended = call(attempt.client, method, attempt.path + path)
        assert code_of(ended) == (409, "lost"), path


class TestSeed:
    @pytest.fixture(autouse=True)
    def master(self, settings):
        settings.HIDDEN_SEED = "5eed5eed" * 8

    def test_a_live_hidden_attempt_gets_the_derived_seed_and_no_lease_holds_it(self, settings):
        attempt = attempt_of(launching(split="hidden"))
        answer = attempt.client.get(f"{attempt.path}seed/")
        evaluation = Evaluation.objects.get()
        seed = hidden_data.derived_seed(master=settings.HIDDEN_SEED, season="1", suite=evaluation.suite.slug)
        assert answer.json() == {"season": "1", "seed": seed, "sealed": []}
        assert answer["Cache-Control"] == "no-store"
        assert attempt.told["needs_seed"] is True
        assert settings.HIDDEN_SEED not in str(attempt.told) + answer.content.decode()
        assert seed not in str(attempt.told)

    def test_an_attempt_on_open_data_gets_none(self):
        attempt = attempt_of(launching(split="public"))
        assert attempt.told["needs_seed"] is False
        assert attempt.client.get(f"{attempt.path}seed/").status_code == 404

    def test_a_user_s_own_worker_never_gets_it(self):
        # No way leads here, since own workers run no hidden data; were there one, the seed must not be given.
        attempt = attempt_of(launching(split="hidden"))
        Attempt.objects.update(worker="own:w")
        assert attempt.client.get(f"{attempt.path}seed/").status_code == 403

    @pytest.mark.parametrize(
        ("master", "said"), [("", "PLANARENA_HIDDEN_SEED"), ("a5" * 32, "does not fit the commitment")]
    )
    def test_a_seed_that_is_not_the_announced_one_is_given_to_nobody(self, settings, master, said):
        attempt = attempt_of(launching(split="hidden"))
        settings.HIDDEN_SEED = master
        answer = attempt.client.get(f"{attempt.path}seed/")
        assert (answer.status_code, said in answer.json()["detail"]) == (404, True), answer.content


class TestIntake:
    """What the site takes in is looked through once more, for what it knows while it answers."""

    @pytest.fixture
    def attempt(self, settings):
        settings.HIDDEN_SEED = "5eed5eed" * 8
        return attempt_of(launching(split="hidden", suite=make_suite(runnable=1)))

    @pytest.fixture(params=["credential", "derived seed", "master seed", "site's token"])
    def secret(self, request, attempt, settings):
        return {
            "credential": attempt.told["token"],
            "derived seed": hidden_data.seed_of(Evaluation.objects.get()),
            "master seed": settings.HIDDEN_SEED,
            "site's token": settings.WORKER_TOKEN,
        }[request.param]

    def test_artefacts_with_a_secret_are_refused_and_the_others_kept(self, attempt, secret):
        info = PngInfo()
        info.add_text("Comment", secret, zip=True)
        buffer = io.BytesIO()
        Image.new("RGB", (2, 2)).save(buffer, format="PNG", pnginfo=info)
        dirty = [
            Artefact(data=f'{{"a": "{secret}"}}'.encode(), media_type=MediaType.TEXT),
            Artefact(data=buffer.getvalue(), media_type=MediaType.PNG),
        ]
        good = Artefact(data=b"an answer", media_type=MediaType.TEXT)
        body = bundles.pack([*dirty, good])
        answer = attempt.client.post_bytes(f"{attempt.path}objects/", body, bundles.CONTENT_TYPE).json()
        assert answer["kept"] == 1
        assert set(answer["refused"]) == {one.digest for one in dirty}
        assert secret not in str(answer)
        for one in dirty:
            alone = attempt.client.put(f"{attempt.path}objects/{one.digest}/", one.data, one.media_type.value)
            assert alone.status_code == 400
            assert not server_store(split="hidden").has(one.digest)
        assert server_store(split="hidden").has(good.digest)

    @pytest.mark.parametrize("by", ["results", "finish"])
    def test_records_logs_and_provenance_are_kept_without_it(self, attempt, secret, by):
        suite = attempt.told["suite"]
        record = make_record("0", suite=suite).model_copy(update={"request": f"do {secret} now"})
        lines = [{"at": 1.0, "level": "INFO", "text": f"using {secret}"}]
        sent = {"results": [record.model_dump(mode="json")]}
        provenance = {"device": f"cpu {secret}"}
        if by == "results":
            assert attempt.client.post(f"{attempt.path}results/", sent).status_code == 200
            assert attempt.client.post(f"{attempt.path}log/", {"first": 0, "lines": lines}).status_code == 200
            rest = {"results": [], "provenance": provenance}
            assert attempt.client.post(f"{attempt.path}finish/", rest).status_code == 200
        else:
            body = {**sent, "log": {"first": 0, "lines": lines}, "provenance": provenance}
            assert attempt.client.post(f"{attempt.path}finish/", body).status_code == 200
        evaluation = Evaluation.objects.get()
        kept = server_store(split="hidden").get(evaluation.results.get().record_digest).data.decode()
        for text in (kept, str(evaluation.provenance), str(LogChunk.objects.get().lines)):
            assert secret not in text
            assert "***" in text

    def test_the_reason_of_a_worker_that_gives_up_is_kept_without_it(self, attempt, secret):
        assert attempt.client.post(f"{attempt.path}fail/", {"reason": f"it said {secret}"}).status_code == 204
        assert secret not in Attempt.objects.get().reason
