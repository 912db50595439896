"""Sites and files that answer anything at all: no crash, no hang, no write, and never `verified`."""

import io
import itertools
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from evaluator.client.verify import fetching
from evaluator.client.verify.fetching import FetchError, FileFetcher, SiteFetcher
from evaluator.client.verify.report import Kind
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.signatures.statements import record_commitment
from tests.evaluator.client.verify.test_attacks import verified
from tests.fakes.hostile_server import (
    ENDLESS_BODY,
    ENDLESS_HEADERS,
    SLOW_ANSWERS,
    answers,
    gzip_bomb,
    hostile_server,
)
from tests.fakes.signed_site import SignedSite, name
from tests.rings import usual

PATHS = (
    "/.well-known/planarena-keys.json",
    "/api/v1/boards/openagi/snapshots/?",
    "/api/v1/boards/openagi/rows/",
    "/api/v1/boards/openagi/snapshots/3/",
    "/api/v1/boards/openagi/withdrawals/",
    f"/api/v1/evaluations/{name(2)}/",
)
BODIES = {
    "nothing": b"",
    "a page": b"<!doctype html>",
    "a key twice": b'{"format": 1, "format": 1}',
    "nested": b"[" * 200_000,
    "nested objects": b'{"a":' * 200_000,
    "a list": b"[]",
    "null": b"null",
    "not a number": b'{"format": NaN}',
    "infinity": b'{"format": 1e999}',
    "half a character": b'{"format": "\\ud800"}',
    "not UTF-8": b'{"format": "\xff"}',
    "a number of a million digits": b'{"format": ' + b"9" * 1_000_000 + b"}",
    "wrong types": json.dumps(
        {
            "format": [], "keys": {}, "results": {"number": "3"}, "next": 3, "snapshot": [3], "rows": 7, "tasks": None,
            "suite": 1, "number": [], "content": [], "signature": [], "salts": [], "records": [], "evaluation": {},
        }
    ).encode(),
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_that_is_none_is_said_and_nothing_is_verified(path):
    site = SignedSite()
    for name_of_body, body in BODIES.items():
        site.answers[path] = lambda body=body: body
        report, _ = verified(site)
        assert report.exit_code is ExitCode.INFRASTRUCTURE, (name_of_body, report.as_text())
        assert json.dumps(report.as_json())


def test_a_row_of_another_form_is_a_mismatch():
    for value in (None, 3, "row", [], {}, {"evaluation": name(3)}, {"metrics": {"overall": {"mean": "high"}}}):
        site = SignedSite()
        site.snapshots[3]["content"]["rows"][0] = value
        report, _ = verified(site)
        assert report.exit_code is ExitCode.CHECK_FAILED
        assert any(one.text.startswith("snapshot 3, row 1 has an unknown form") for one in report.of(Kind.MISMATCH))


def test_a_record_that_cannot_be_read_could_not_be_checked():
    site = SignedSite()
    record = b"[" * 100_000
    site.put(record)
    made = site.evaluations[name(3)]
    made["records"]["t5"] = site.put(record)
    made["tasks"][5]["record"] = record_commitment(salt=made["salt"], task="t5", digest=made["records"]["t5"])
    site._sign_evaluation(made)
    site.snapshots[3]["rows"][0]["tasks"] = site.tasks_digests[name(3)]
    site.sign(3)
    report, _ = verified(site)
    assert report.exit_code is ExitCode.INFRASTRUCTURE, report.as_text()
    assert "task 't5' is nested too deeply" in report.as_text()


def test_the_next_page_of_a_list_leads_to_no_other_address():
    site = SignedSite()
    listed = json.loads(site.get("/api/v1/boards/openagi/snapshots/?x", most_bytes=0))
    pages = iter(
        [
            {
                "results": listed["results"][:1],
                "next": "http://169.254.169.254/latest/?cursor=c%26x=1",
                "previous": None,
            },
            {"results": listed["results"][1:], "next": None, "previous": "https://arena.example/?cursor=b"},
        ]
    )
    site.answers["/api/v1/boards/openagi/snapshots/?"] = lambda: json.dumps(next(pages)).encode()
    report, _ = verified(site)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert (
        "/api/v1/boards/openagi/snapshots/?fields=number%2Cdigest%2Csignature&page_size=500&cursor=c%26x%3D1"
        in site.asked
    )


def test_a_list_without_end_is_left():
    site = SignedSite()
    pages = itertools.chain([None], itertools.repeat("https://arena.example/?cursor=before"))
    site.answers["/api/v1/boards/openagi/snapshots/?"] = lambda: json.dumps(
        {"results": [], "next": "https://arena.example/?cursor=again", "previous": next(pages)}
    ).encode()
    report, _ = verified(site)
    assert report.exit_code is ExitCode.INFRASTRUCTURE
    assert "more than 400 pages" in report.as_text()


def fetch(url: str, *, most_bytes: int = 100_000, patience: float = 0.0) -> bytes:
    fetcher = SiteFetcher(site=url, patience=patience, answer_seconds=0.5)
    try:
        return fetcher.get("/objects/x", most_bytes=most_bytes)
    finally:
        fetcher.close()


@pytest.mark.parametrize("does", usual(SLOW_ANSWERS, of=["drips its body"]))
def test_one_deadline_covers_a_slow_answer(does):
    with hostile_server(SLOW_ANSWERS[does]) as server, pytest.raises(FetchError):
        fetch(server.url, most_bytes=10_000_000)


def test_a_large_or_compressed_answer_is_left_unread():
    for answer in (ENDLESS_BODY, ENDLESS_HEADERS, gzip_bomb()):
        with hostile_server(answer) as server, pytest.raises(FetchError):
            fetch(server.url)


def test_all_answers_of_a_site_together_are_bounded(monkeypatch):
    monkeypatch.setattr(fetching, "_MOST_TOTAL_BYTES", 15)
    with hostile_server(answers(body=b"0123456789")) as server:
        fetcher = SiteFetcher(site=server.url, patience=0.0)
        assert fetcher.get("/a", most_bytes=100) == b"0123456789"
        with pytest.raises(FetchError, match="more than 5 bytes"):
            fetcher.get("/b", most_bytes=100)
        fetcher.close()


def test_a_redirection_is_not_followed():
    with (
        hostile_server(answers(body=b"secret")) as inner,
        hostile_server(answers(body=b"", status="302 Found", Location=inner.url)) as server,
    ):
        with pytest.raises(FetchError, match=r"answers HTTP 302 \(permanent\)"):
            fetch(server.url)
        assert inner.requests == []


def test_a_site_that_asks_to_wait_for_a_day_is_not_waited_for():
    slow = answers(body=b"", status="429 Slow", Retry_After="86400")
    with hostile_server(slow) as server, pytest.raises(FetchError, match=r"answers HTTP 429 \(transient\)"):
        fetch(server.url, patience=1.0)


def zipped(folder: Path) -> Path:
    file = folder / "download.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../../escaped", "x")
        archive.writestr("/tmp/escaped-absolute", "x")
    return file


def tarred(folder: Path) -> Path:
    file = folder / "download.tar"
    with tarfile.open(file, "w") as archive:
        for path, kind in (("../../escaped", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)):
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry, io.BytesIO(b""))
    return file


@pytest.mark.parametrize("make", [zipped, tarred])
def test_an_archive_with_paths_that_lead_out_is_no_download_and_nothing_is_written(make, tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    file = make(folder)
    with pytest.raises(FetchError, match="is no file of `planarena verify --download`"):
        FileFetcher(file)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {file}
    assert not Path("/tmp/escaped-absolute").exists()


def test_a_file_that_is_no_download_or_has_no_answers_is_refused(tmp_path):
    for text in ("", "[]", "{}", '{"format": "planarena-download/1"}', "[" * 100_000, '{"answers": 3}'):
        (tmp_path / "file").write_text(text)
        with pytest.raises(FetchError, match="is no file of"):
            FileFetcher(tmp_path / "file")
    kept = {"/a": 3, "/b": "not base64!", "/c": "QUJD", "/d": None}
    (tmp_path / "file").write_text(json.dumps({"format": "planarena-download/1", "answers": kept}))
    fetcher = FileFetcher(tmp_path / "file")
    assert fetcher.get("/c", most_bytes=3) == b"ABC"
    for path, says in {"/a": "base64", "/b": "base64", "/c": "more than 2", "/d": "404", "/../etc": "not have"}.items():
        with pytest.raises(FetchError, match=says):
            fetcher.get(path, most_bytes=2)
