"""Addresses that may not be called are refused with a sentence, when submitted and when called."""

import asyncio
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from evaluator.network import name_resolution, ssrf_guard
from evaluator.network.guarded_connections import EgressRefusedError
from evaluator.network.name_resolution import NameResolver
from evaluator.network.ssrf_guard import check_url
from tests.fakes.serving import in_a_thread


def test_a_bad_address_is_refused_when_submitted():
    """All networks that may not be called are in `test_public_addresses.py`."""
    cases = [
        ("ftp://example.org/", "http://"),
        ("example.org/plan", "http://"),
        ("http:///plan", "names no host"),
        ("http://user:secret@example.org/", "user name"),
        ("http://example.org:99999/", "not a valid address"),
        ("http://" + "a" * 600, "longer than"),
        ("http://" + "a" * 64 + ".org/", "no name server"),
        ("http://example..org/", "no name server"),
        ("http://\ud800.org/", "no name server"),
        ("http://127.0.0.1:8000/", "private"),
        ("http://localhost/", "private"),
        ("http://[::1]/", "private"),
        ("http://192.168.0.1/", "private"),
        ("http://169.254.169.254/latest/meta-data", "private"),
        ("http://[::ffff:127.0.0.1]/", "private"),
        ("http://2130706433/", "private"),
        ("http://[64:ff9b::a9fe:a9fe]/", "private"),
        ("http://[::ffff:0:127.0.0.1]/", "reserved"),
        ("http://[2606:4700::5efe:10.0.0.1]/", "reserved"),
        ("http://0x7f.1/", "private"),
        ("http://017700000001/", "private"),
    ]
    for url, says in cases:
        with pytest.raises(EgressRefusedError, match=says):
            check_url(url=url, allow_private=False)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/", "http://localhost:9000/plan"])
def test_demo_mode_allows_private_addresses(url):
    check_url(url=url, allow_private=True)


def test_a_name_that_changes_its_mind_is_refused_at_the_connection(monkeypatch):
    """DNS rebinding: public when submitted, loopback when called."""
    answers = iter([["8.8.8.8"], ["127.0.0.1"]])
    monkeypatch.setattr(name_resolution, "NAMES", NameResolver(look_up=lambda host, port: next(answers)))
    check_url(url="http://rebind.example/", allow_private=False)
    with (
        ssrf_guard.egress_client(allow_private=False, timeout=httpx.Timeout(1.0)) as client,
        pytest.raises(EgressRefusedError, match="private"),
    ):
        client.post("http://rebind.example/")


def test_a_name_that_there_cannot_be_or_that_does_not_resolve_is_a_connection_error():
    names = {"example..org": "cannot be the name", f"{'a' * 64}.org": "cannot be the name", "no.invalid": "resolve"}
    with ssrf_guard.egress_client(allow_private=True, timeout=httpx.Timeout(5)) as client:
        for host, says in names.items():
            with pytest.raises(httpx.ConnectError, match=says):
                client.get(f"http://{host}/")


def many(*urls, allow_private):
    """What an asynchronous client gets, in a loop of its own."""

    async def run():
        timeout = httpx.Timeout(2.0)
        async with ssrf_guard.async_egress_client(
            allow_private=allow_private, timeout=timeout, connections=3
        ) as client:
            return await asyncio.gather(*(client.get(url) for url in urls), return_exceptions=True)

    return asyncio.run(run())


def test_many_calls_at_once_are_checked_at_each_connection(monkeypatch):
    answers = iter([["8.8.8.8"], ["127.0.0.1"], ["10.0.0.1"]])
    monkeypatch.setattr(name_resolution, "NAMES", NameResolver(look_up=lambda host, port: next(answers)))
    check_url(url="http://rebind.example/", allow_private=False)
    found = many("http://rebind.example/", "http://rebind.example/", allow_private=False)
    assert [type(error) for error in found] == [EgressRefusedError] * 2


def test_of_many_calls_a_name_that_does_not_resolve_costs_its_own():
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            seen.add(self.client_address)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    seen = set()
    with in_a_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as good:
        found = many(*[good] * 20, "http://does-not-exist.invalid/", *[good] * 20, allow_private=True)
    assert isinstance(found[20], httpx.ConnectError)
    assert [answer.text for at, answer in enumerate(found) if at != 20] == ["ok"] * 40
    assert len(seen) <= 4, "connections are kept and used again"
