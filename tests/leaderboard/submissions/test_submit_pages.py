"""The submit form: checked as one types, its test call, and its files."""

import json
import re
from html import unescape

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evaluator.core.plans_file import MAX_BYTES
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.planners.data import DESCRIPTION, NAME
from leaderboard.planners.kinds import FIELDS, KINDS
from leaderboard.planners.models import Planner, PlansFile
from leaderboard.platform.api.throttling import Throttle
from tests.leaderboard.factories import make_submission, make_suite, make_user
from tests.leaderboard.planners.servers import TOKEN, guarded
from tests.leaderboard.queue.job_helpers import run_jobs
from tests.leaderboard.suites import JUDGED

pytestmark = pytest.mark.django_db
ENDPOINT = {
    "kind": "endpoint",
    "endpoint_url": "https://example.org/plan",
    "timeout_seconds": "20",
    "name": "remote",
    "suites": ["openagi"],
}
PLANS = {"kind": "plans", "name": "written", "suites": ["judged"]}


@pytest.fixture
def ada(client: Client):
    user = make_user("ada")
    client.force_login(user)
    make_suite(slug="openagi")
    make_suite(slug="judged", runnable=4)
    Suite.objects.filter(slug="judged").update(**JUDGED)
    return user


def check(client: Client, changed: str, **entered) -> dict[str, str]:
    """The messages by field, without those that are empty."""
    page = client.post("/submit/check/", entered, headers={"HX-Request": "true", "HX-Trigger-Name": changed})
    assert page.status_code == 200
    found = re.findall(
        r'id="(?:id_)?(\w+?)(?:_status)?" hx-swap-oob="innerHTML">(.*?)</div>', page.content.decode(), re.S
    )
    assert {name for name, _ in found} >= {"name", "suites", "expected"}
    return {name: unescape(re.sub(r"<[^>]+>", "", text)).strip() for name, text in found if text.strip()}


def plans_file(content) -> SimpleUploadedFile:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return SimpleUploadedFile("plans.json", data, content_type="application/json")


class TestChecking:
    def test_nothing_is_changed(self, client, ada):
        check(client, "plans_file", **PLANS, plans_file=plans_file({"0": "a"}))
        check(client, "header_value", **ENDPOINT, header_name="Authorization", header_value=TOKEN)
        assert not any(model.objects.exists() for model in (Planner, PlansFile, Submission, Evaluation))

    def test_what_is_empty_as_yet_is_wrong_only_where_it_was_just_emptied(self, client, ada):
        assert set(check(client, "kind", kind="endpoint", suites=["openagi"])) == {"expected"}
        found = check(client, "name", kind="endpoint", suites=["openagi"])
        assert found["name"] == "Give the planner a name."
        assert "endpoint_url" not in found

    @pytest.mark.parametrize(
        ("changed", "change", "sentence"),
        [
            ("endpoint_url", {"endpoint_url": "http://private.example.org"}, "private"),
            ("endpoint_url", {"endpoint_url": "ftp://example.org"}, "must begin with http"),
            ("timeout_seconds", {"timeout_seconds": "0"}, "1 to 300"),
            ("header_name", {"header_name": "Host", "header_value": TOKEN}, "belongs to HTTP"),
            ("header_value", {"header_name": "X-Key", "header_value": "short"}, "5 characters"),
            ("suites", {"kind": "bundled", "bundled_name": "controlllm/adaptive"}, "does not support"),
            ("suites", {"kind": "hub", "model_id": "a/b", "strategy": "controlllm/adaptive"}, "does not support"),
            ("suites", {"kind": "plans"}, "executes plans"),
        ],
    )
    def test_what_is_wrong_stands_beside_its_field(self, client, ada, changed, change, sentence):
        assert sentence in check(client, changed, **{**ENDPOINT, **change})[changed]

    def test_a_name_that_is_ones_own_with_another_kind_is_told_before_all_else_is_there(self, client, ada):
        make_submission(user=ada, name="remote")
        found = check(client, "name", kind="endpoint", name="Remote", suites=["openagi"])
        assert "You have a planner 'remote' with another kind" in found["name"]
        make_submission(user=ada, name="far", kind="endpoint", bundled_name="", endpoint_url="https://example.org/plan")
        again = {**ENDPOINT, "name": "far", "timeout_seconds": "30"}
        assert "adds an evaluation" in check(client, "name", **again)["name"]

    def test_a_used_up_quota_is_told(self, client, ada, settings):
        settings.QUOTA_PER_SUITE_AND_DAY, settings.QUOTA_PER_DAY = 1, 3
        settings.TEAM_QUOTA_PER_DAY = 0
        assert "suites" not in check(client, "suites", **ENDPOINT)
        make_submission(user=ada, suite=Suite.objects.get(slug="openagi"))
        assert "none of 1 evaluations of openagi left today" in check(client, "suites", **ENDPOINT)["suites"]

    def test_a_header_that_is_kept_is_told_without_its_value(self, client, ada):
        endpoint = {"kind": "endpoint", "bundled_name": "", "endpoint_url": ENDPOINT["endpoint_url"]}
        make_submission(
            user=ada, name="remote", timeout_seconds=20, header_name="Authorization", header_value=TOKEN, **endpoint
        )
        found = check(client, "name", **ENDPOINT)
        assert found["header_name"] == "Authorization is set, ends in …ab12: it stays as it is."
        found = check(client, "remove_header", **ENDPOINT, remove_header="on")
        assert "will be removed" in found["remove_header"]

    def test_a_plans_file_is_checked_at_once(self, client, ada):
        found = check(client, "plans_file", **PLANS, plans_file=plans_file({"0": "a", "1": "garbage", "2": []}))
        assert "3 of 4 tasks of judged have a plan; 1 are missing" in found["plans_file"]
        assert "1 cannot be read and will score 0. 1: the fake cannot read it." in found["plans_file"]
        assert "1 has no steps, such as 2." in found["plans_file"]
        wrong = check(client, "plans_file", **PLANS, plans_file=plans_file(b'{"0": "a",\n "1": b}'))
        assert "Line 2, column 7 is not JSON" in wrong["plans_file"]
        assert (
            "no task of judged"
            in check(client, "plans_file", **PLANS, plans_file=plans_file({"zz": "a"}))["plans_file"]
        )

    def test_who_asks_too_often_is_told_to_wait(self, client, ada, monkeypatch):
        monkeypatch.setattr(Throttle, "THROTTLE_RATES", {"checks": "2/min"})
        cache.clear()
        found = [client.post("/submit/check/", ENDPOINT) for _ in range(3)]
        cache.clear()
        assert [page.status_code for page in found] == [200, 200, 429]
        assert int(found[2].headers["Retry-After"]) >= 1

    def test_what_was_typed_is_never_taken_for_markup(self, client, ada):
        page = client.post(
            "/submit/check/",
            {**ENDPOINT, "endpoint_url": "http://<script>alert(1)</script>/"},
            headers={"HX-Trigger-Name": "endpoint_url"},
        )
        assert b"<script" not in page.content


class TestTestCall:
    @pytest.fixture(autouse=True)
    def _on_this_machine(self, settings, no_process):
        settings.DEMO = True

    def test_request_status_time_answer_and_plan_are_shown(self, client, ada):
        with guarded(echo=True) as asked:
            entered = {**ENDPOINT, "endpoint_url": asked.url, "header_name": "Authorization", "header_value": TOKEN}
            page = client.post("/submit/test/", entered, headers={"HX-Request": "true"})
            html = after_the_test(client, page).content.decode()
        assert "Correct: the reference plan of this task." in html
        assert "HTTP 200" in html
        assert "Parsed as a plan with 1 step" in html
        assert "planner/1" in html
        assert TOKEN.split()[1] not in html
        assert "use ***" in html
        assert not Planner.objects.exists()

    def test_without_javascript_the_page_comes_back_with_what_was_typed_and_leads_to_the_test(self, client, ada):
        with guarded() as asked:
            entered = {"kind": "endpoint", "endpoint_url": asked.url, "suites": ["openagi"]}
            page = client.post("/submit/test/", entered)
            html = page.content.decode()
            assert page.status_code == 202
            assert f'value="{asked.url}"' in html
            assert "Please correct the form." not in html
            waiting = client.get(re.search(r'href="(/endpoint-tests/[0-9a-f-]+/)"', html)[1]).content.decode()
            assert '<noscript><meta http-equiv="refresh"' in waiting
            assert "Waiting to be called." in waiting
            ended = after_the_test(client, page).content.decode()
        assert "HTTP 401" in ended
        assert 'http-equiv="refresh"' not in ended

    def test_the_secret_does_not_come_back_with_the_page(self, client, ada):
        page = client.post("/submit/", {**ENDPOINT, "name": "", "header_name": "X-Key", "header_value": TOKEN})
        assert page.status_code == 400
        assert TOKEN not in page.content.decode()


class TestSubmitting:
    def test_a_plans_file_is_kept_while_other_errors_are_mended(self, client, ada):
        page = client.post("/submit/", {**PLANS, "name": "", "plans_file": plans_file({"0": "a", "1": "b"})})
        html = page.content.decode()
        assert page.status_code == 400
        assert "Your file with 2 plans is stored" in html
        digest = re.search(r'name="plans_digest" value="(\w{64})"', html)[1]
        assert client.post("/submit/", {**PLANS, "plans_digest": digest}).status_code == 302

    def test_nobody_submits_anothers_file_by_its_digest(self, client, ada):
        client.post("/submit/", {**PLANS, "plans_file": plans_file({"0": "a"})})
        other = Client()
        other.force_login(make_user("eve"))
        page = other.post("/submit/", {**PLANS, "plans_digest": PlansFile.objects.get().digest})
        assert page.status_code == 400
        assert "This plans file was not found" in page.content.decode()

    def test_a_file_that_is_too_large_is_413_with_a_sentence(self, client, ada):
        page = client.post("/submit/", {**PLANS, "plans_file": plans_file(b" " * (MAX_BYTES + 1))})
        assert page.status_code == 413
        assert "The file is too large: at most 8 MiB are read." in page.content.decode()
        assert not PlansFile.objects.exists()

    @pytest.mark.parametrize("kind", KINDS)
    def test_each_kind_has_a_form_of_its_own(self, client, ada, kind):
        assert f'href="/submit/{kind}/"' in client.get("/submit/").content.decode()
        html = client.get(f"/submit/{kind}/").content.decode()
        others = {field.name for field in FIELDS} - {field.name for field in (*KINDS[kind].fields, NAME, DESCRIPTION)}
        shown = set(re.findall(r'name="(\w+)"', html))
        assert shown >= {field.name for field in KINDS[kind].fields if field.is_required}
        assert not shown & others
        assert f'<input type="hidden" name="kind" value="{kind}">' in html

    def test_a_kind_s_form_submits_that_kind(self, client, ada):
        assert client.post("/submit/endpoint/", {**ENDPOINT, "kind": "bundled"}).status_code == 302
        assert Planner.objects.get().kind == "endpoint"

    def test_only_suites_that_the_kind_takes_are_offered(self, client, ada):
        make_suite(slug="turns", runnable=4)
        Suite.objects.filter(slug="turns").update(panels=["transcript"])
        offered = {
            kind: re.findall(r'name="suites" value="([\w-]+)"', client.get(f"/submit/{kind}/").content.decode())
            for kind in ("endpoint", "plans", "agent")
        }
        assert offered == {
            "endpoint": ["judged", "openagi", "turns"],
            "plans": ["judged", "openagi"],
            "agent": ["turns"],
        }


def after_the_test(client: Client, page):
    """The answer of the address that a page or fragment leads to, once the test was made; itself if there is none."""
    if (found := re.search(r'href="(/endpoint-tests/[0-9a-f-]+/)"', page.content.decode())) is None:
        return page
    run_jobs()
    return client.get(found[1], headers={"HX-Request": "true"} if "<html" not in page.content.decode() else {})
