"""The endpoint client against a real HTTP server that misbehaves in every way."""

import json
import threading
import time
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evaluator.core.planner import Expected, PlannerError, PlannerRequest, RequestedTask, offered_tools, request_for
from evaluator.core.records import Reason
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings
from tests.fakes.serving import in_a_thread

REQUEST = PlannerRequest(
    suite="openagi",
    task=RequestedTask(id="16", request="Given a noisy grayscale image, ...", resources={"image": "image"}),
    expects=Expected(type="image"),
    tools=offered_tools(OPENAGI.restricted_to(frozenset({"Image Denoising", "Colorization"}))),
)
GOOD = json.dumps({"plan": "Image Denoising", "usage": {"prompt_tokens": 7, "completion_tokens": 3}}).encode()


class Body(dict):
    """A request's JSON object, with its path and headers and when it came."""

    path: str
    headers: dict[str, str]
    at: float


@contextmanager
def endpoint(*answers, path="/plan"):
    """Serve the answers in turn (the last one for ever): (status, body), headers as a third part, or a function of the
    handler that gives such an answer or has written its own."""
    seen = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = Body(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body.path, body.headers, body.at = self.path, dict(self.headers), time.monotonic()
            with lock:
                seen.append(body)
                answer = answers[min(len(seen), len(answers)) - 1]
            answer = answer(self) if callable(answer) else answer
            if answer is None:
                return
            status, content, *headers = answer
            self.send_response(status)
            for name, value in headers[0].items() if headers else ():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

        def handle_error(self, *_):
            """Clients that gave up are no news."""

    with in_a_thread(Server(("127.0.0.1", 0), Handler)) as url:
        yield f"{url}{path}", seen


def planner(url, *, timeout=5.0, waits=None, allow_private=True):
    settings = EndpointSettings(url=url, timeout_seconds=timeout, allow_private=allow_private)
    return EndpointPlanner(settings, sleep=(waits if waits is not None else []).append)


def failure(url, **options):
    with pytest.raises(PlannerError) as caught:
        planner(url, **options).plan(REQUEST)
    return caught.value


def test_a_plan_comes_back_with_its_token_counts():
    with endpoint((200, GOOD)) as (url, seen):
        reply = planner(url).plan(REQUEST)
    assert reply.plan == "Image Denoising"
    assert (reply.call.prompt_tokens, reply.call.completion_tokens, reply.call.tries) == (7, 3, 1)
    assert seen[0]["version"] == "planner/1"
    assert seen[0]["task"] == {"id": "16", "request": REQUEST.task.request, "resources": {"image": "image"}}
    assert [tool["name"] for tool in seen[0]["tools"]] == ["Image Denoising", "Colorization"]


def test_cached_and_reasoning_tokens_are_counted_apart():
    usage = {"prompt_tokens": 70, "completion_tokens": 30, "cached_tokens": 60, "reasoning_tokens": 0}
    with endpoint((200, json.dumps({"plan": "Image Denoising", "usage": usage}).encode())) as (url, _):
        call = planner(url).plan(REQUEST).call
    assert (call.prompt_tokens, call.completion_tokens) == (70, 30)
    assert (call.cached_tokens, call.reasoning_tokens) == (60, None)


@pytest.mark.parametrize(
    ("answer", "plan"),
    [
        ({"plan": None}, None),
        ({"plan": None, "reason": ""}, None),
        ({"plan": None, "reason": 7}, None),
        ({"plan": None, "reason": "No tool."}, {"plan": None, "reason": "No tool."}),
        ({"plan": None, "reason": "x" * 5000}, {"plan": None, "reason": "x" * 1000}),
        ({"plan": "Image Denoising", "reason": ["notes"]}, "Image Denoising"),
    ],
)
def test_a_planner_may_abstain_and_say_why(answer, plan):
    with endpoint((200, json.dumps(answer).encode())) as (url, _):
        assert planner(url).plan(REQUEST).plan == plan


def test_a_confidence_between_0_and_1_is_kept_and_anything_else_is_no_fault():
    cases = [
        (0, 0.0), (0.8, 0.8), (1, 1.0), (1.5, None), (-1, None), ("high", None), (True, None), (10**400, None),
    ]  # fmt: skip
    answers = [(200, json.dumps({"plan": "Image Denoising", "confidence": said}).encode()) for said, _ in cases]
    with endpoint(*answers) as (url, _):
        asking = planner(url)
        for said, kept in cases:
            call = asking.plan(REQUEST).call
            assert call.confidence == kept, said
            assert ("confidence" in call.model_dump()) is (kept is not None), said


def test_a_request_tells_nothing_of_the_gold_plan():
    suite = suite_of("openagi")
    task = suite.task("16")
    context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    text = request_for(suite=suite, task=task, context=context).model_dump_json()
    assert task.text in text
    assert "gold" not in text
    assert "degradation" not in text


@pytest.mark.parametrize(
    ("answer", "reason", "says"),
    [
        ((200, b"hello"), Reason.INVALID_RESPONSE, "is not JSON; it begins with 'hello'"),
        ((200, b'{"plan": '), Reason.INVALID_RESPONSE, "is not JSON"),
        ((200, b""), Reason.INVALID_RESPONSE, "is not JSON"),
        ((200, b'{"answer": 42}'), Reason.INVALID_RESPONSE, "plan: Field required"),
        ((200, b'["plan"]'), Reason.INVALID_RESPONSE, "not a planner/1 response"),
        ((200, b'{"plan": 7}'), Reason.INVALID_RESPONSE, "plan"),
        ((200, b'{"plan": "\\u0000"}'), Reason.INVALID_RESPONSE, "NUL"),
        ((200, b'{"plan": "\\ud800"}'), Reason.INVALID_RESPONSE, "surrogate"),
        ((200, b'{"plan": {"x": NaN}}'), Reason.INVALID_RESPONSE, "is not JSON"),
        ((200, b'{"plan": {"x": 1e999}}'), Reason.INVALID_RESPONSE, "too large"),
        ((200, b"[" * 100_000), Reason.INVALID_RESPONSE, "not JSON"),
        ((200, b'{"plan": {"a":' + b"[" * 60 + b"]" * 60 + b"}}"), Reason.INVALID_RESPONSE, "nested"),
        ((413, b"too large"), Reason.PROMPT_TOO_LONG, "HTTP 413: the request is too long"),
        ((404, b"nothing here"), Reason.REFUSED_BY_ENDPOINT, "HTTP 404"),
        ((302, b"", {"Location": "http://127.0.0.1/other"}), Reason.REFUSED_BY_ENDPOINT, "redirects are not followed"),
    ],
)
def test_a_wrong_answer_is_the_planners_fault_and_is_not_asked_again(answer, reason, says):
    with endpoint(answer) as (url, seen):
        error = failure(url)
    assert error.reason is reason
    assert says in str(error)
    assert len(seen) == 1


PAGE = b"\n<!DOCTYPE html><title>Just a moment...</title>"
INFRASTRUCTURE = [
    *((status, b"busy") for status in (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529, 530)),
    *((status, PAGE) for status in (403, 404, 522)),
    (502, b"x" * 3_000_000),
    (200, b'{"error": {"message": "Provider returned error", "code": 502}}'),
    (200, b'{"error": "overloaded", "plan": null}'),
    (200, b'{"errors": [{"message": "no healthy upstream"}]}'),
    (200, b'{"object": "error", "message": "engine dead"}'),
]


def test_an_answer_of_the_infrastructure_is_tried_again_and_never_a_planners_fault():
    waits = []
    with endpoint(*(answer for answer in INFRASTRUCTURE for _ in range(4)), (200, GOOD)) as (url, seen):
        asking = planner(url, waits=waits)
        for number, (status, *_) in enumerate(INFRASTRUCTURE, start=1):
            with pytest.raises(PlannerError) as caught:
                asking.plan(REQUEST)
            assert (caught.value.reason, len(seen)) == (Reason.ENDPOINT_UNAVAILABLE, 4 * number), status
            assert f"HTTP {status}" in str(caught.value)
    assert waits == [0.5, 1.0, 2.0] * len(INFRASTRUCTURE)


def test_a_page_at_status_200_is_a_gateways_once_and_the_endpoints_own_every_time():
    with endpoint((200, PAGE), (200, GOOD)) as (url, _):
        assert planner(url).plan(REQUEST).plan == "Image Denoising"
    with endpoint((200, PAGE)) as (url, seen):
        error = failure(url)
    assert error.reason is Reason.INVALID_RESPONSE
    assert "is not JSON; it begins with '<!DOCTYPE html>" in str(error)
    assert len(seen) == 4


def test_a_plan_beside_an_error_counts():
    with endpoint((200, b'{"plan": "Colorization", "error": "slow"}')) as (url, seen):
        assert planner(url).plan(REQUEST).plan == "Colorization"
    assert len(seen) == 1


def test_odd_options_are_ignored_with_a_note_and_never_cost_the_plan():
    cases = [
        (b'"confidence": NaN', ["confidence"]),
        (b'"confidence": "high", "usage": "many"', ["usage", "confidence"]),
        (b'"usage": {"prompt_tokens": 7, "completion_tokens": 3, "details": {"reasoning": 3}}', []),
        (b'"usage": {"prompt_tokens": -1}', ["usage"]),
        (b'"usage": {"prompt_tokens": 1e999}', ["usage"]),
        (b'"alternatives": ["a", "b", "c", "d", "e"]', ["alternatives"]),
        (b'"alternatives": {"plan": 1}', ["alternatives"]),
        (b'"alternatives": ["a", 7]', ["alternatives"]),
        (b'"reason": ["notes"]', ["reason"]),
        (b'"trace": {"score": NaN, "text": "\\u0000"}', []),
        (b'"usage": null, "confidence": null, "reason": "", "alternatives": []', []),
    ]
    answers = [(200, b'{"plan": "Image Denoising", ' + options + b"}") for options, _ in cases]
    with endpoint(*answers) as (url, _):
        asking = planner(url)
        for options, ignored in cases:
            reply = asking.plan(REQUEST)
            assert reply.plan == "Image Denoising", options
            assert [note.partition(":")[0] for note in reply.tolerated] == sorted(ignored, key=NOTED.index), options


NOTED = ("alternatives", "usage", "confidence", "reason")


def test_retry_after_is_honoured_as_seconds_or_a_date_within_bounds():
    waits = []
    date = formatdate(time.time() + 30, usegmt=True)
    delays = [(429, b"", {"Retry-After": value}) for value in ("3", date, "86400")]
    with endpoint(delays[0], (500, b""), (200, GOOD), *delays[1:], (200, GOOD)) as (url, _):
        asking = planner(url, waits=waits)
        assert asking.plan(REQUEST).call.tries == asking.plan(REQUEST).call.tries == 3
    assert waits == [3.0, 1.0, pytest.approx(30, abs=5), 60.0]


def test_an_unreachable_endpoint_is_unavailable():
    error = failure("http://127.0.0.1:9/plan")  # another test may get the port of an ended server
    assert error.reason is Reason.ENDPOINT_UNAVAILABLE
    assert error.call.tries == 4


def test_a_late_answer_is_a_timeout():
    with endpoint(lambda handler: time.sleep(1.0)) as (url, seen):
        error = failure(url, timeout=0.3)
    assert error.reason is Reason.PLANNER_TIMEOUT
    assert "within 0.3 seconds" in str(error)
    assert len(seen) == 1


def test_a_private_address_is_refused_when_it_is_called():
    with endpoint((200, GOOD)) as (url, seen):
        error = failure(url, allow_private=False)
    assert error.reason is Reason.ADDRESS_REFUSED
    assert "private" in str(error)
    assert seen == []


def test_an_exhausted_account_is_infrastructure_and_told_in_the_words_of_the_service():
    body = b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'
    for status in (402, 429):
        with endpoint((status, body)) as (url, seen):
            error = failure(url)
        assert (error.reason, len(seen)) == (Reason.ENDPOINT_UNAVAILABLE, 1)
        assert f"HTTP {status}: You exceeded your current quota" in str(error)
