"""Every field of every document that `planarena verify` reads is changed, removed, doubled, emptied or moved: the board
is not verified any more, unless the field is listed here with the reason why it may be anything."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from evaluator.client.verify.checking import Order, check
from evaluator.client.verify.fetching import MissingError
from evaluator.client.verify.pins import KnownSite
from evaluator.client.verify.report import Report
from evaluator.client.verify.site import Site, board_address
from evaluator.core.commands.exit_codes import ExitCode
from leaderboard.evaluations.models import Evaluation
from leaderboard.operations.leaving.closing import delete_account, erase_all
from leaderboard.people.models import User
from leaderboard.submissions.releasing import hide
from tests.leaderboard.boards.signing.boards import Reader, published
from tests.leaderboard.evaluations.web.factories import make_suite

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(450)]

TASKS = 5
ADDRESS = "https://testserver/boards/openagi/"
HARMLESS = (
    (r"/api/v1/boards/openagi/ reference", "figures that papers report: not measured here, no part of a snapshot"),
    (r"/snapshots/\?\S* results\[[23]\]\.digest", "of the content of signed snapshots that are not read here"),
    (r"\.json suite\.(title|metrics)", "words about the suite; its digest and what its figures depend on are signed"),
)
"""Documents and fields, as regular expressions, that a site may change, with the reason."""


class Answers:
    """What a site answered, and one answer that is another one. A `Fetcher`."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self.answers = answers

    def get(self, path: str, *, most_bytes: int) -> bytes:
        assert most_bytes
        if path not in self.answers:
            raise MissingError("the site answers 404")
        return self.answers[path]


class Recorder(Reader):
    """A `Fetcher` that keeps what the site answers."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, bytes] = {}

    def get(self, path: str, *, most_bytes: int) -> bytes:
        self.answers[path] = super().get(path, most_bytes=most_bytes)
        return self.answers[path]


def verdict(fetcher: Recorder | Answers) -> Report:
    report = Report(address=ADDRESS)
    order = Order(address=board_address(ADDRESS), sample=3, seed=1)
    check(order=order, site=Site(fetcher), known=KnownSite(), report=report)
    return report


@pytest.fixture(scope="module")
def answers(module_rows, tmp_path_factory) -> dict[str, bytes]:
    """All answers about a board from which a row and the name of a deleted user were withdrawn."""
    with override_settings(STORE_DIR=tmp_path_factory.mktemp("answers") / "store"):
        return answers_about_a_board()


def answers_about_a_board() -> dict[str, bytes]:
    suite = make_suite()
    for owner in ("ada", "bea"):
        published(suite=suite, owner=owner, tasks=TASKS, samples=1)
    hidden = published(suite=suite, owner="cleo", tasks=TASKS, samples=1)
    cleo = next(row["evaluation"] for row in hidden.content["rows"] if row["owner"] == "cleo")
    hide(Evaluation.runs.get(pk=cleo), reason="Trained on the test data.")
    delete_account(user=User.objects.get(username="bea"), by=None)
    erase_all()
    recorder = Recorder()
    report = verdict(recorder)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert "2 signed withdrawals" in report.as_text()
    return recorder.answers


def written(value: Any) -> str:
    """JSON in which objects are lists of pairs, so that they may have a key twice."""
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(name)}:{written(one)}" for name, one in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value)


class Pairs(list):
    """An object of JSON."""


def read(data: bytes) -> Any:
    return json.loads(data, object_pairs_hook=Pairs)


def changed(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value[:-1] + ("0" if value[-1:] != "0" else "1")
        case None:
            return 0
    raise AssertionError(value)


def mutations(value: Any, *, place: str = "") -> Iterator[tuple[str, str, Any]]:
    """Place, what was done, and the whole value with one change in it."""
    if isinstance(value, Pairs):
        yield place, "add", Pairs([*value, ("added", 1)])
        for number, (name, one) in enumerate(value):
            inner, rest = f"{place}.{name}".lstrip("."), Pairs(value[:number] + value[number + 1 :])
            yield inner, "delete", rest
            yield inner, "duplicate", Pairs([*value, (name, one)])
            yield inner, "duplicate another", Pairs([(name, 0), *value])
            yield inner, "rename", Pairs([*rest, (f"{name}x", one)])
            if one is not None:
                yield inner, "null", Pairs([*value[:number], (name, None), *value[number + 1 :]])
            for where, what, other in mutations(one, place=inner):
                yield where, what, Pairs([*value[:number], (name, other), *value[number + 1 :]])
    elif isinstance(value, list):
        yield place, "append", [*value, value[-1] if value else 1]
        if len(value) > 1 and value[::-1] != value:
            yield place, "reorder", value[::-1]
        for number, one in enumerate(value):
            yield f"{place}[{number}]", "drop", value[:number] + value[number + 1 :]
            for where, what, other in mutations(one, place=f"{place}[{number}]"):
                yield where, what, [*value[:number], other, *value[number + 1 :]]
    else:
        yield place, "change", changed(value)


def is_json(path: str) -> bool:
    return path.startswith(("/api/", "/.well-known/")) or path.endswith(".json")


def harmless_pattern(path: str, place: str) -> str | None:
    return next((pattern for pattern, _ in HARMLESS if re.fullmatch(f".*{pattern}.*", f"{path} {place}")), None)


def field_of(path: str, place: str, what: str) -> tuple[str, str, str]:
    """What a mutation tries: changes of one field are alike in all documents of a kind and wherever it is in a list,
    and so are other mutations of one kind of document."""
    pattern = harmless_pattern(path, place)
    field = pattern or (re.sub(r"[0-9]+", "", place) if what == "change" else "")
    return re.sub(r"[0-9a-f-]{8,}|[0-9]+", "", path), field, what


def test_no_field_of_any_document_can_be_changed_unnoticed(answers, full):
    unnoticed, count, harmless, tried = [], 0, set(), set()
    for path in filter(is_json, answers):
        for place, what, other in mutations(read(answers[path])):
            field = field_of(path, place, what)
            if field in tried and not full:
                continue
            tried.add(field)
            report = verdict(Answers({**answers, path: written(other).encode()}))
            count += 1
            if report.exit_code is ExitCode.PASSED:
                if pattern := harmless_pattern(path, place):
                    harmless.add(pattern)
                else:
                    unnoticed.append((path, place, what))
    assert not unnoticed
    assert count > (3000 if full else 150), count
    assert harmless == {pattern for pattern, _ in HARMLESS}, "what is harmless is not checked at all"


def test_every_document_is_one_text_of_json(answers):
    """Not UTF-8, a byte order mark, a number that JSON does not have, one too large for most readers."""
    for path in filter(is_json, answers):
        data = answers[path]
        number = re.search(rb'":\s*([0-9]+)(?=\s*[,}])', data)
        others = [
            data.decode().encode("utf-16"),
            b"\xef\xbb\xbf" + data,
            data.rstrip()[:-1],
            data + b" {}",
            b"",
            b"{}",
            b"null",
        ]
        if number is not None:
            others += [data[: number.start(1)] + text + data[number.end(1) :] for text in (b"NaN", b"1e999", b"9" * 30)]
        for other in others:
            assert verdict(Answers({**answers, path: other})).exit_code is not ExitCode.PASSED, (path, other[:40])


def test_no_document_can_be_missing(answers):
    for path in answers:
        left = {name: data for name, data in answers.items() if name != path}
        assert verdict(Answers(left)).exit_code is not ExitCode.PASSED, path


def test_no_cell_of_a_file_or_a_page_and_no_object_can_be_changed_unnoticed(answers, full):
    count = 0
    for path, data in answers.items():
        if is_json(path):
            continue
        if path.startswith("/objects/"):
            places = [(0, 1), (len(data) - 1, len(data))]
        elif path.endswith(".csv"):
            places = [match.span() for match in re.finditer(rb"[^,\r\n]+", data)]
        else:
            places = [match.span(1) for match in re.finditer(rb'data-cell="[^>]*>([^<]+)<', data)]
        assert places, path
        # The first line of a file has the names of its columns, the second one a row.
        for start, end in places if full else places[: 2 * (data.partition(b"\n")[0].count(b",") + 1)]:
            other = data[:start] + (b"7" if data[start:end] != b"7" else b"8") + data[end:]
            report = verdict(Answers({**answers, path: other}))
            assert report.exit_code is not ExitCode.PASSED, (path, data[start:end])
            count += 1
    assert count > (200 if full else 50)
