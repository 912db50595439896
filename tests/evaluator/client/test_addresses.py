"""Errors about addresses of sites name the address that was probably meant."""

import socket
import threading

import httpx
import pytest

from evaluator.client.addresses import address_problem, likely_address
from evaluator.client.api import Client
from evaluator.client.errors import RefusedError, UnreachableError, UsageError
from tests.processes import free_port


@pytest.mark.parametrize(
    ("url", "likely"),
    [
        ("planarena.example.org", "https://planarena.example.org"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000/", "http://127.0.0.1:8000/"),
        ("htps://arena.example.org", "https://arena.example.org"),
        ("http:/arena.example.org", "http://arena.example.org"),
        ("https//arena.example.org", "https://arena.example.org"),
        ("https://arena.example.org/api/v1/", "https://arena.example.org"),
        ("https://arena.example.org/arena/api/v1", "https://arena.example.org/arena"),
    ],
)
def test_an_address_with_a_slip_is_corrected(url, likely):
    assert f"did you mean {likely!r}?" in address_problem(url)


def test_right_addresses_have_no_problem_and_hopeless_ones_no_suggestion():
    for url in ("https://arena.example.org", "http://127.0.0.1:8000/", "https://example.org/arena"):
        assert address_problem(url) == ""
    assert address_problem("site").endswith("not 'site'")
    assert "Port out of range" in address_problem("http://x:99999")
    assert "PLANARENA_TOKEN" in address_problem("https://user:secret@example.org")
    assert "secret" not in address_problem("https://user:secret@example.org")


def test_a_planner_that_looks_like_an_address_is_recognised_and_a_model_is_not():
    assert likely_address("localhost:9000/plan") == "http://localhost:9000/plan"
    assert likely_address("htp://planner.example.org") == "http://planner.example.org"
    for name in ("hugginggpt:chat:https://api.example.org#m", "gold", "plans:file.json", "react:hub:org/model@v1.0"):
        assert likely_address(name) == ""


def test_a_wrong_port_says_so():
    port = free_port()
    with Client(url=f"http://127.0.0.1:{port}", patience=0) as client, pytest.raises(UnreachableError) as caught:
        client.suites()
    assert f"Nothing answers on port {port} of 127.0.0.1" in str(caught.value)


def test_https_to_a_server_without_tls_says_so_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with Client(url=f"https://127.0.0.1:{port}", patience=60) as client, pytest.raises(UsageError) as caught:
            client.suites()
        thread.join(10)
    assert f"did you mean 'http://127.0.0.1:{port}'?" in str(caught.value)


def test_another_site_at_the_address_is_named():
    def not_found(request):
        return httpx.Response(404, text="<html>nothing</html>")

    transport = httpx.MockTransport(not_found)
    with Client(url="https://example.org", transport=transport) as client, pytest.raises(RefusedError) as caught:
        client.suites()
    assert "no PlanArena site has this address" in str(caught.value)
