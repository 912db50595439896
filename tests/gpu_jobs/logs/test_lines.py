"""Lines of logs: for people, for machines, with ids, without secrets."""

import io
import json
import logging
import threading
from datetime import datetime

import pytest

from gpu_jobs.__main__ import main
from gpu_jobs.exits import Exit
from gpu_jobs.logs.lines import also_named, formatter, named, present_ids, process_named
from gpu_jobs.redaction import Redactor

SECRET = "a-secret-of-the-tests"


@pytest.fixture
def written():
    """Logs a message in a form and returns what was written."""

    def log(form: str, message: str, *values: object, error: Exception | None = None) -> str:
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(formatter(form, redact=Redactor(secrets=[SECRET])))
        logger = logging.Logger("somewhere")
        logger.addHandler(handler)
        logger.warning(message, *values, exc_info=error)
        return stream.getvalue()

    return log


def test_a_line_has_time_level_name_and_message_as_ever(written):
    time, _, rest = written("lines", "%s of %s", "this", "that").partition(",")
    datetime.fromisoformat(time)
    assert rest[3:] == " WARNING somewhere: this of that\n"


def test_ids_stand_behind_the_message_and_before_the_traceback(written):
    with named(request="r1"), named(evaluation="e1"):
        also_named(worker="w1")
        text = written("lines", "it failed", error=ValueError("why"))
    assert "it failed [request=r1 evaluation=e1 worker=w1]\nValueError: why" in text
    assert present_ids() == {}


def test_json_is_one_object_a_line_whatever_the_message_is(written):
    with named(request="r1"):
        text = written("json", 'two\nlines and a "quote" ☃', error=ValueError("why"))
    assert text.count("\n") == 1
    found = json.loads(text)
    assert datetime.fromisoformat(found.pop("timestamp")).utcoffset().total_seconds() == 0
    assert "ValueError: why" in found.pop("exception")
    assert found == {
        "event": 'two\nlines and a "quote" ☃', "level": "warning", "logger": "somewhere", "request": "r1",
    }  # fmt: skip


@pytest.mark.parametrize("form", ["lines", "json"])
def test_no_secret_is_written_neither_in_messages_nor_in_errors(written, form):
    text = written(form, "sent %s with Authorization: Bearer abcdefgh", SECRET, error=ValueError(f"{SECRET} is wrong"))
    assert SECRET not in text
    assert "abcdefgh" not in text
    assert "***" in text


def test_ids_of_a_process_hold_in_its_threads_and_end(written):
    found = []
    with process_named(attempt="a1"):
        thread = threading.Thread(target=lambda: found.append(written("lines", "from a thread")))
        thread.start()
        thread.join()
    assert "from a thread [attempt=a1]" in found[0]
    assert present_ids() == {}


def test_a_worker_refuses_a_format_that_does_not_exist(monkeypatch, capsys):
    monkeypatch.setenv("PLANARENA_LOG_FORMAT", "xml")
    assert main(["worker"]) == Exit.MISCONFIGURED
    assert capsys.readouterr().err == "PLANARENA_LOG_FORMAT is 'xml': it must be lines or json.\n"
