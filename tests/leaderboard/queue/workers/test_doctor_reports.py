"""Reports of `planarena doctor`: from a file through a worker's call to the status page and the API."""

import json
from typing import Any

import pytest
import typer
from allauth.mfa.models import Authenticator
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from typer.testing import CliRunner

from evaluator.execution.doctor.command import doctor
from gpu_jobs import __main__ as program
from gpu_jobs.exits import Exit
from leaderboard.messages.models import Fault, Incident
from leaderboard.queue.models import DoctorReport
from leaderboard.queue.workers.doctor_reports import MOST_REPORTS
from leaderboard.queue.workers.tokens import create_worker_token
from tests.leaderboard.factories import PASSWORD, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of, worker_client, worker_with
from tests.leaderboard.serving import server
from tests.memory import forget_everything
from tests.routes import MOST_QUERIES

pytestmark = pytest.mark.django_db

EXPERT = {
    "tool": "Image Denoising", "expert": "paper/denoising", "batch_size": 8, "load_seconds": 2.5, "run_seconds": 0.5,
    "weights_bytes": 104_000_000, "peak_bytes": 1_200_000_000, "repeatable": True, "position": False, "padding": None,
    "difference": 0.0312, "tolerance": 0.02, "is_right": False, "problem": "",
}  # fmt: skip
BROKEN = {
    "tool": "Fill Mask", "expert": "paper/fill", "batch_size": 4, "is_right": False,
    "problem": "OSError: /srv/weights/fill is missing",
}  # fmt: skip
REPORT: dict[str, Any] = {
    "worker": "gpu-7", "profile": "paper", "weights": "own", "driver": "570.86.15",
    "device": {"kind": "cuda", "card": "NVIDIA H100", "cuda": "12.8", "torch": "", "total_bytes": 85_000_000_000},
    "experts": [EXPERT, BROKEN],
}  # fmt: skip


def send(client: ApiClient | None = None, **changes: Any):
    return (client or worker_client()).post("worker/doctor-reports/", {**REPORT, **changes})


def status_page(client: Client | None = None) -> str:
    return " ".join((client or Client()).get(reverse("status")).content.decode().split())


def devices(client: ApiClient | None = None) -> list[dict[str, Any]]:
    return (client or ApiClient()).get("status/devices/").json()["reports"]


def test_the_last_report_of_a_class_is_on_the_status_page_and_in_the_api():
    assert "Devices</h2>" not in status_page()
    assert send().json() == {"device": "NVIDIA H100, driver 570.86.15, CUDA 12.8"}
    send(experts=[{**EXPERT, "difference": 0.0125, "position": True, "is_right": True}, BROKEN])
    (report,) = devices()
    assert report["device"] == {"kind": "cuda", "name": "NVIDIA H100", "driver": "570.86.15", "cuda": "12.8"}
    assert (report["profile"], report["memory_bytes"]) == ("paper", 85_000_000_000)
    assert report["experts"][0]["difference"] == 0.0125
    shown = status_page()
    assert "1 of 2 experts of paper as declared" in shown
    assert "NVIDIA H100, driver 570.86.15, CUDA 12.8" in shown
    assert "0.0125" in shown


def test_other_classes_profiles_and_weights_have_reports_of_their_own_and_free_memory_makes_no_class():
    send()
    send(device={**REPORT["device"], "free_bytes": 5})
    send(driver="999.1")
    assert DoctorReport.objects.count() == 1
    send(device={**REPORT["device"], "card": "NVIDIA A100"})
    send(profile="lilliput")
    send(weights="random-released")
    assert DoctorReport.objects.count() == 4
    assert [report["weights"] for report in devices()][:2] == ["random-released", "own"]


def test_problems_name_paths_of_the_machine_and_are_for_operators():
    send()
    staff = make_user("root")
    staff.is_staff = True
    staff.save()
    browser = Client()
    browser.login(username="root", password=PASSWORD)
    assert "/srv/weights" not in status_page()
    assert "/srv/weights" in status_page(browser)
    assert [expert["problem"] for expert in devices()[0]["experts"]] == ["", ""]
    assert devices(client_of(staff))[0]["experts"][1]["problem"] == BROKEN["problem"]


def test_self_hosted_workers_do_not_report_on_the_site_s_devices():
    ada = make_user("ada")
    token = client_of(ada).post("worker-tokens/", {"name": "mine"}).json()["token"]
    refused = send(worker_with(token))
    assert (refused.status_code, refused.json()["code"]) == (403, "operators_only")
    assert send(client_of(ada)).status_code == 403
    assert not DoctorReport.objects.exists()


def test_a_self_hosted_worker_of_an_operator_does_not_report_either():
    root = make_user("root")
    root.is_staff = True
    root.save()
    token = create_worker_token(owner=root, name="home").token
    assert send(worker_with(token)).json()["code"] == "operators_only"
    by_command = create_worker_token(owner=None, name="site").token
    assert send(worker_with(by_command)).status_code == 200


def test_the_status_page_takes_few_queries_for_operators_with_a_second_factor_too(settings):
    settings.OPERATORS_NEED_SECOND_FACTOR = True
    send()
    seen = timezone.now()
    Incident.objects.create(
        fault=Fault.NO_SCORES, suite="s", why="the scorer's file is gone", since=seen, seen=seen, checked=seen
    )
    root = make_user("root")
    root.is_staff = True
    root.save()
    Authenticator.objects.create(user=root, type=Authenticator.Type.TOTP, data={})
    browser = Client()
    browser.force_login(root)
    forget_everything()
    with CaptureQueriesContext(connection) as queries:
        shown = status_page(browser)
    assert "gone" in shown
    assert "/srv/weights" in shown
    assert len(queries) <= MOST_QUERIES, [query["sql"][:90] for query in queries]


HOSTILE = [
    {"experts": []},
    {"experts": [EXPERT] * 201},
    {"experts": [{**EXPERT, "difference": 2.0}]},
    {"experts": [{**EXPERT, "problem": "x" * 501}]},
    {"experts": [{**EXPERT, "tool": "a\x00b"}]},
    {"experts": [{**EXPERT, "tool": "\ud800"}]},
    {"experts": [{**EXPERT, "peak_bytes": -1}]},
    {"experts": [{**EXPERT, "batch_size": 10**30}]},
    {"experts": ["x"]},
    {"device": {}},
    {"device": {str(number): "x" for number in range(41)}},
    {"device": {"kind": ["cuda"]}},
    {"device": {"kind": "x" * 1001}},
    {"profile": "x" * 121},
    {"profile": ""},
    {"driver": 5},
]


@pytest.mark.parametrize("changes", HOSTILE)
def test_malformed_and_oversized_reports_are_refused(changes):
    assert send(**changes).status_code == 400
    assert not DoctorReport.objects.exists()


def test_texts_are_escaped_and_the_number_of_reports_is_bounded():
    for number in range(MOST_REPORTS + 3):
        assert send(profile=f"<b>{number}</b>").status_code == 200
    assert DoctorReport.objects.count() == MOST_REPORTS
    assert not DoctorReport.objects.filter(profile="<b>2</b>").exists()
    assert "<b>9</b>" not in status_page()
    assert "&lt;b&gt;9&lt;/b&gt;" in status_page()


# --- From the command -------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_report_of_the_doctor_is_delivered_with_a_worker_s_token(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(program, "stop_on_sigterm", lambda: None)
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path / "data"))
    file, app = tmp_path / "report.json", typer.Typer()
    app.command()(doctor)
    assert CliRunner().invoke(app, ["--tools", "Sentiment Analysis", "--output", str(file)]).exit_code == 0
    with server() as url:
        arguments = ["worker", "--url", url, "--token", django_settings.WORKER_TOKEN, "--doctor-report", str(file)]
        assert program.main(arguments) == Exit.IDLE
        assert "Delivered: 1 experts of lilliput on CPU" in capsys.readouterr().out
        (report,) = devices()
        assert [expert["tool"] for expert in report["experts"]] == ["Sentiment Analysis"]
        assert (report["experts"][0]["repeatable"], report["experts"][0]["is_right"]) == (True, True)
        arguments[4] = "paw_wrong"
        assert program.main(arguments) == Exit.TOKEN_REFUSED


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file"),
        ("{", "Expecting property name"),
        ("[]", "this is not a report from `planarena doctor --output FILE`"),
        (json.dumps({**REPORT, "experts": [1]}), "experts.0"),
        (json.dumps({**REPORT, "profile": None}), "profile: "),
    ],
)
def test_a_file_that_is_no_report_is_refused_before_a_call(tmp_path, monkeypatch, capsys, content, complaint):
    monkeypatch.setattr(program, "stop_on_sigterm", lambda: None)
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path / "data"))
    file = tmp_path / "report.json"
    if content is not None:
        file.write_text(content)
    arguments = ["worker", "--url", "http://127.0.0.1:9", "--token", "t", "--doctor-report", str(file)]
    assert program.main(arguments) == Exit.MISCONFIGURED
    assert complaint in capsys.readouterr().err


def test_problems_of_libraries_become_one_short_line(tmp_path):
    from gpu_jobs.doctor_reports import read_doctor_report

    file = tmp_path / "report.json"
    file.write_text(json.dumps({**REPORT, "experts": [{**BROKEN, "problem": "first\n\x1b[31m  second " + "x" * 900}]}))
    (expert,) = read_doctor_report(file, worker="w").experts
    assert expert.problem.startswith("first [31m second xxx")
    assert len(expert.problem) == 500
