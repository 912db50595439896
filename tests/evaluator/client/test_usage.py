"""Commands that never reach a site."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from evaluator.client.__main__ import app
from evaluator.client.errors import UsageError
from evaluator.client.remembered import Remembered, state_file
from evaluator.client.shapes import NewSubmission, PlannerEntry

ROOT = Path(__file__).resolve().parents[3]
SUBMIT = ("submit", "--name", "a", "--planner", "gold", "--suite", "openagi")
PLANS = ("submit", "--name", "a", "--suite", "toolmini", "--plans")
NEW = NewSubmission(planner=PlannerEntry.bundled("gold", name="a"), suites=["openagi"])


@pytest.fixture
def planarena(monkeypatch):
    """Runs a command with these variables, and gives its exit code and what it says, in one line."""
    for name in [name for name in os.environ if name.startswith("PLANARENA_")]:
        monkeypatch.delenv(name)

    def run(*arguments, **environment):
        done = CliRunner().invoke(app, arguments, env=environment)
        return done.exit_code, " ".join(done.stderr.split())

    return run


def test_bad_usage_is_exit_code_2_with_a_sentence(planarena):
    cases = [
        (SUBMIT, {}, "set PLANARENA_URL"),
        (SUBMIT, {"PLANARENA_URL": "site"}, "must begin with https://"),
        (SUBMIT, {"PLANARENA_URL": "http://127.0.0.1:9"}, "set PLANARENA_TOKEN"),
        ((*SUBMIT, "--fail-under", "overall=0.4"), {"PLANARENA_URL": "http://127.0.0.1:9"}, "need --wait"),
        ((*SUBMIT, "--wait", "--fail-under", "overall"), {}, "METRIC=NUMBER"),
        (("submit",), {}, "Missing option"),
        ((*SUBMIT, "--header-value-env", "KEY"), {}, "needs --header NAME"),
        ((*SUBMIT, "--header", "X-Key", "--header-value-env", "KEY"), {}, "the variable KEY is not set"),
        ((*SUBMIT, "--header", "X-Key", "--remove-header"), {}, "cannot be combined with --header"),
        ((*SUBMIT, "--priority", "urgent"), {}, "low, normal or high"),
        ((*SUBMIT, "--plans", "plans.json"), {}, "not --planner and --plans"),
        ((*PLANS, "/nothing/plans.json"), {}, "cannot be read"),
    ]
    for arguments, environment, says in cases:
        code, said = planarena(*arguments, **environment)
        assert (code, says in said) == (2, True), (says, said)


def test_a_defect_of_a_plans_file_is_named_with_line_and_column_before_anything_is_sent(planarena, tmp_path):
    file = tmp_path / "plans.json"
    file.write_text('{"QA/0": "a",\n "QA/1": b}')
    code, said = planarena(*PLANS, str(file), PLANARENA_URL="http://127.0.0.1:9", PLANARENA_TOKEN="t")
    assert (code, "Line 2, column 10 is not JSON" in said) == (2, True), said


def test_a_secret_is_in_no_repr_and_does_not_change_what_is_remembered(tmp_path):
    entries = [
        PlannerEntry(
            name="a", kind="endpoint", endpoint_url="https://a.example", header_name="X-Key", header_value=value
        )
        for value in ("the first secret", "the second secret")
    ]
    assert "secret" not in repr(entries)
    kept = [
        Remembered(file=tmp_path / "s.json", url="https://b.example", new=NewSubmission(planner=entry, suites=["s"]))
        for entry in entries
    ]
    kept[0].keep(submission="17")
    again = Remembered(
        file=tmp_path / "s.json", url="https://b.example", new=NewSubmission(planner=entries[1], suites=["s"])
    )
    assert again.submission == "17"
    assert "secret" not in (tmp_path / "s.json").read_text()


def test_a_secret_of_a_role_does_not_change_what_is_remembered(tmp_path):
    def remembered(value):
        role = {"kind": "chat", "endpoint_url": "https://b.example", "model_id": "m", "header_value": value}
        planner = PlannerEntry(
            name="a", kind="chat", endpoint_url="https://a.example", model_id="m", roles={"plan": role}
        )
        new = NewSubmission(planner=planner, suites=["s"])
        return Remembered(file=tmp_path / "s.json", url="https://c.example", new=new)

    remembered("the first secret").keep(submission="17")
    assert remembered("the second secret").submission == "17"


class TestRemembering:
    def test_a_key_is_kept_until_it_is_forgotten(self, tmp_path):
        file = tmp_path / "deep" / "state.json"
        first = Remembered(file=file, url="https://a", new=NEW)
        first.keep(submission="s")
        again = Remembered(file=file, url="https://a/", new=NEW)
        assert (again.key, again.submission) == (first.key, "s")
        assert Remembered(file=file, url="https://b", new=NEW).key != first.key
        again.forget()
        assert Remembered(file=file, url="https://a", new=NEW).key != first.key

    def test_a_file_that_is_none_is_named(self, tmp_path):
        (tmp_path / "state.json").write_text("[]")
        with pytest.raises(UsageError, match=r"state\.json is no state file"):
            Remembered(file=tmp_path / "state.json", url="https://a", new=NEW)

    def test_the_variable_says_where_it_is(self):
        assert state_file({"PLANARENA_STATE": "/x/y"}) == Path("/x/y")
        assert state_file({"XDG_STATE_HOME": "/s"}) == Path("/s/planarena/submissions.json")


def test_all_commands_but_verify_need_four_small_packages_only():
    """What `pip install httpx pydantic rich typer` brings is enough for a pipeline (docs/ci.md)."""
    program = (
        "import sys, evaluator.client.__main__, evaluator.client.cli, evaluator.client.submitting;"
        "print(*{name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    loaded = {name for name in done.stdout.split() if not name.startswith(("_", "evaluator"))}
    assert {"httpx", "pydantic", "typer"} <= loaded, done.stderr
    others = {"numpy", "cryptography", "PIL", "jinja2", "torch", "platformdirs", "psutil", "django", "scipy"}
    assert not others & loaded


@pytest.mark.parametrize(
    "entered",
    [
        {"planner": {"name": "a", "kind": "bundled"}, "suites": ["s"], "visibilty": "private"},
        {"planner": {"name": "a", "kind": "bundled", "modelname": "b"}, "suites": ["s"]},
    ],
)
def test_a_mistyped_field_of_a_submission_is_refused(entered):
    with pytest.raises(ValidationError, match=r"visibilty|modelname"):
        NewSubmission.model_validate(entered)
