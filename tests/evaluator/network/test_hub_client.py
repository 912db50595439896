"""Downloads of models are bounded in bytes and time, and the hub's client is as before afterwards."""

import json
import time

import pytest
from huggingface_hub import constants, get_session

from evaluator.execution.experts.checkpoints import Checkpoint, FetchError
from evaluator.execution.experts.fetching import download_file
from evaluator.network.hub_client import DESCRIPTION_BYTES, HubAnswerError, hub_limits
from evaluator.planners.language_models import ModelError, ModelUnusableError, fetching
from tests.evaluator.execution.experts.hub_server import serving
from tests.evaluator.network.test_bounded_answers import peak_memory
from tests.fakes.hostile_server import ENDLESS_BODY, SLOW_ANSWERS, answers, gzip_bomb, hostile_server
from tests.rings import usual

COMMIT = "c" * 40
PATIENCE = 10.0
SLOW = ["drips its body", "drips its headers"]


@pytest.fixture
def limited(monkeypatch):
    """Set what any download may take."""

    def limit(*, most_bytes, seconds=PATIENCE):
        monkeypatch.setattr(fetching, "download_limits", lambda _: (most_bytes, seconds))
        monkeypatch.setattr(fetching, "DESCRIPTION_SECONDS", seconds)

    return limit


def repository(tmp_path, *, weights):
    folder = tmp_path / "hub" / "own" / "planner"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({}))
    (folder / "model.safetensors").write_bytes(bytes(weights))
    return tmp_path / "hub"


def fetch(address, tmp_path, **options):
    return fetching.fetch_model(
        repo="own/planner", revision="main", cache=tmp_path / "cache", endpoint=address, **options
    )


def endless(handler):
    """More and more weights."""
    handler.send_response(200)
    handler.send_header("ETag", f'"{"e" * 40}"')
    handler.send_header("X-Repo-Commit", COMMIT)
    handler.end_headers()
    if handler.command == "HEAD":
        return
    until = time.monotonic() + 2 * PATIENCE
    while time.monotonic() < until:
        handler.wfile.write(b" " * 100_000)


def test_a_hub_that_sends_more_than_it_declared_is_left(tmp_path, limited):
    limited(most_bytes=1_000_000)
    answer = {f"/own/planner/resolve/{COMMIT}/model.safetensors": endless}
    with (
        serving(repository(tmp_path, weights=1000), commits={"own/planner": COMMIT}, answers=answer) as address,
        pytest.raises(ModelError, match="it sent more than 1000000 bytes"),
    ):
        fetch(address, tmp_path)
    assert sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file()) < 1_000_000


def test_a_model_that_is_declared_too_large_is_not_fetched(tmp_path):
    with (
        serving(repository(tmp_path, weights=5000), commits={"own/planner": COMMIT}) as address,
        pytest.raises(ModelUnusableError, match="own/planner@main takes 5002 bytes; at most 5001 are fetched here"),
    ):
        fetch(address, tmp_path, most_bytes=5001)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("does", usual(SLOW, of=SLOW[:1]))
def test_a_slow_hub_is_left_at_the_deadline(does, tmp_path, limited):
    limited(most_bytes=1_000_000, seconds=0.5)
    with hostile_server(SLOW_ANSWERS[does]) as server, pytest.raises(ModelError, match="cannot be fetched"):
        fetch(server.url, tmp_path)


def test_a_description_without_end_costs_bounded_memory(tmp_path):
    with hostile_server(ENDLESS_BODY) as server, peak_memory() as peak, pytest.raises(ModelError, match="it sent more"):
        fetch(server.url, tmp_path)
    assert peak[0] < 4 * DESCRIPTION_BYTES


def test_a_compressed_answer_is_refused_unopened(tmp_path):
    with hostile_server(gzip_bomb()) as server, peak_memory() as peak, pytest.raises(ModelError, match="compresses"):
        fetch(server.url, tmp_path)
    assert peak[0] < DESCRIPTION_BYTES
    assert b"accept-encoding: identity" in server.requests[0].lower()


def test_afterwards_the_hub_s_client_is_its_own_again():
    with hub_limits(most_bytes=1, seconds=1):
        assert constants.HF_HUB_DISABLE_XET
        assert get_session().headers["Accept-Encoding"] == "identity"
    assert get_session().headers["Accept-Encoding"] != "identity"
    assert not constants.HF_HUB_DISABLE_XET


def test_each_block_has_its_own_limits():
    with hostile_server(answers(body=b"0123456789")) as server:
        for _ in range(2):
            with hub_limits(most_bytes=10, seconds=PATIENCE):
                assert get_session().get(server.url).content == b"0123456789"
        with hub_limits(most_bytes=9, seconds=PATIENCE), pytest.raises(HubAnswerError, match="more than 9 bytes"):
            get_session().get(server.url)


def single(url, *, values=1):
    return Checkpoint(name="one", licence="mit", values=values, url=url)


def test_a_single_file_is_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setattr("evaluator.execution.experts.fetching.download_limits", lambda declared: (declared, 0.5))
    with (
        hostile_server(answers(body=b"12345")) as server,
        pytest.raises(FetchError, match="it sent more than 4 bytes"),
    ):
        download_file(item=single(f"{server.url}/w.pth"), target=tmp_path / "w.pth")
    slow = SLOW_ANSWERS["drips its body"]
    with hostile_server(slow) as server, pytest.raises(FetchError, match="could not be downloaded"):
        download_file(item=single(f"{server.url}/w.pth", values=10**6), target=tmp_path / "w.pth")
    with hostile_server(gzip_bomb()) as server, pytest.raises(FetchError, match="compressed"):
        download_file(item=single(f"{server.url}/w.pth", values=10**6), target=tmp_path / "w.pth")
