"""`planarena verify` as it is typed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.client.__main__ import app
from evaluator.core.signatures.envelope import PrivateKey
from tests.fakes.signed_site import OPERATOR, SignedSite, name, served

STRANGER = PrivateKey.from_secret("a stranger's key")


@pytest.fixture(autouse=True)
def pins(monkeypatch, tmp_path) -> Path:
    file = tmp_path / "known" / "sites.json"
    monkeypatch.setenv("PLANARENA_KNOWN_SITES", str(file))
    return file


def run(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["verify", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def test_the_key_is_pinned_on_first_use_and_used_from_then_on(pins):
    site = SignedSite()
    with served(site) as url:
        code, first, _ = run(url)
        assert (code, first.splitlines()[-1]) == (0, "verified"), first
        assert "trusted on first use" in first
        _, again, _ = run(url)
        assert "as before" in again
        site.sign_all_again(key=STRANGER)
        code, changed, _ = run(url)
    assert code == 1, changed
    assert "MISMATCH" in changed
    assert OPERATOR.public.id in changed
    assert OPERATOR.public.id in pins.read_text()
    assert STRANGER.public.id not in pins.read_text()


def test_a_mismatch_says_what_where_expected_and_found():
    site = SignedSite()
    site.snapshots[3]["content"]["rows"][0]["metrics"]["overall"]["mean"] = 0.9999
    with served(site) as url:
        code, told, _ = run(url, "--json")
    assert code == 1
    report = json.loads(told)
    assert (report["version"], report["verdict"], report["exit_code"]) == ("verification/1", "mismatch", 1)
    [wrong] = [one for one in report["findings"] if "the mean of overall" in one["text"]]
    assert (wrong["kind"], wrong["found"], wrong["text"].startswith(f"evaluation {name(3)}")) == (
        "mismatch",
        "0.9999",
        True,
    )
    assert wrong["expected"].startswith("0.")


def test_a_site_that_cannot_be_reached_could_not_be_checked():
    code, told, _ = run("http://127.0.0.1:9/boards/openagi/", "--patience", 0)
    assert (code, "cannot be reached" in told) == (4, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "give the address of a board"),
        (("https://a.example/boards/x/", "--offline", "file"), "give the address of a board"),
        (("https://a.example/",), "is no address of a board"),
        (("ftp://a.example/boards/x/",), "is no address of a board"),
        (("https://u:p@a.example/boards/x/",), "is no address of a board"),
        (("https://a.example/boards/x%2f/",), "is no address of a board"),
        (("--offline", "/nothing/there"), "cannot be read"),
    ],
)
def test_bad_usage_is_exit_code_2_with_a_sentence(arguments, says):
    code, _, told = run(*arguments)
    assert (code, says in " ".join(told.split())) == (2, True), told


def test_a_download_is_checked_without_any_connection(tmp_path):
    file = tmp_path / "board.json"
    with served(SignedSite()) as url:
        code, online, _ = run(url, "--download", file, "--sample", 7, "--seed", 5)
        assert code == 0, online
    code, offline, _ = run("--offline", file)
    assert code == 0, offline
    assert "7 of 36 records" in offline
    assert offline.splitlines()[2:] == online.splitlines()[2:], "the same checks, with the same sample"


def test_a_download_does_not_vouch_for_its_own_key(tmp_path, pins):
    file = tmp_path / "board.json"
    with served(SignedSite()) as url:
        run(url, "--download", file)
    pins.unlink()
    code, told, _ = run("--offline", file)
    assert (code, "give the operator's key by --key" in told) == (4, True), told
    assert run("--offline", file, "--key", OPERATOR.public.text)[0] == 0
    assert run("--offline", file, "--key", STRANGER.public.id)[0] == 1
    assert not pins.exists(), "an offline check pins nothing"


def test_another_sample_than_was_downloaded_could_not_be_checked(tmp_path):
    file = tmp_path / "board.json"
    with served(SignedSite()) as url:
        run(url, "--download", file, "--sample", 2, "--seed", 5)
    code, told, _ = run("--offline", file, "--sample", 30)
    assert (code, "the file does not have /objects/" in told) == (4, True), told


def test_a_file_of_known_sites_that_cannot_be_read_is_not_replaced(pins):
    pins.parent.mkdir()
    pins.write_text("{")
    with served(SignedSite()) as url:
        code, _, told = run(url)
    assert (code, "is no file of known sites" in " ".join(told.split())) == (2, True), told
    assert pins.read_text() == "{"
