"""Hostile checkpoints through the form of a running demo: each gets a sentence, and nothing else happens."""

import html
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from tests.end_to_end.arena import Arena
from tests.fakes.checkpoints import zipped
from tests.fakes.tiny_models import llama, saved, unigram

pytestmark = pytest.mark.timeout(900)

PASS_PHRASE = "a long pass phrase"
Files = Mapping[str, bytes]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Files:
    """A tiny model whose context has room for a strategy's prompts."""
    tokenizer = unigram()
    tokenizer.model_max_length = 30_000
    folder = saved(tmp_path_factory.mktemp("m"), model=llama(tokenizer, length=30_000), tokenizer=tokenizer)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def researcher(arena: Arena) -> Iterator[httpx.Client]:
    """Somebody who signed up."""
    name = f"mallory-{secrets.token_hex(4)}"
    with httpx.Client(base_url=arena.url, follow_redirects=True, timeout=60, headers={"Referer": arena.url}) as client:
        form = {"username": name, "password1": PASS_PHRASE, "password2": PASS_PHRASE}
        client.post("/accounts/signup/", data=form | {"csrfmiddlewaretoken": csrf(client, "/accounts/signup/")})
        yield client


def csrf(client: httpx.Client, path: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found[1]


def changed(files: Files, name: str, **values: Any) -> dict[str, bytes]:
    content = json.loads(files.get(name, b"{}"))
    return {**files, name: json.dumps({**content, **values}).encode()}


def submitted(client: httpx.Client, archive: bytes) -> httpx.Response:
    form = {
        "kind": "checkpoint", "name": f"hostile-{secrets.token_hex(4)}", "strategy": "hugginggpt",
        "suites": ["toolmini"], "visibility": "public", "priority": "normal",
    }  # fmt: skip
    return client.post(
        "/submit/",
        data=form | {"csrfmiddlewaretoken": csrf(client, "/submit/checkpoint/")},
        files={"checkpoint_file": ("model.zip", archive, "application/zip")},
    )


def prefixed(files: Files, part: dict[str, Any]) -> dict[str, bytes]:
    """The tokenizer with a step before the others."""
    tokenizer = json.loads(files["tokenizer.json"])
    steps = {"type": "Sequence", "pretokenizers": [part, tokenizer["pre_tokenizer"]]}
    return changed(files, "tokenizer.json", pre_tokenizer=steps)


READ_FILES = {
    "vocab": {"tokenizer_class": "BertTokenizer", "vocab": "/proc/self/environ"},
    "merges": {"merges": "/proc/self/environ"},
    "vocab_file": {"tokenizer_class": "BertTokenizer", "vocab_file": "/proc/self/environ"},
    "tokenizer_file": {"tokenizer_file": "/proc/self/environ"},
    "init_inputs": {"init_inputs": ["/proc/self/environ"]},
    "gguf_file": {"gguf_file": "../../secrets/worker_token"},
}


@pytest.mark.parametrize("route", READ_FILES)
def test_a_tokenizer_that_names_files_is_refused_with_a_sentence(arena, researcher, files, route):
    before = len(arena.evaluations())
    answer = submitted(researcher, zipped(changed(files, "tokenizer_config.json", **READ_FILES[route])))
    assert f"tokenizer_config.json sets '{route}', which names a file" in html.unescape(answer.text)
    assert len(arena.evaluations()) == before


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"transformers_weights": "../other/model.safetensors"}, "no safetensors file of the model"),
        ({"attn_implementation": "somebody/kernel"}, "code from elsewhere"),
        ({"auto_map": {"AutoConfig": "a.B"}}, "needs code of its own"),
    ],
)
def test_settings_that_reach_outside_the_model_are_refused_with_a_sentence(researcher, files, changes, sentence):
    answer = submitted(researcher, zipped(changed(files, "config.json", **changes)))
    assert sentence in html.unescape(answer.text)


TELLS = "{{ raise_exception('said by the template: ' ~ eos_token ~ bos_token) }}"
BOMBS = {
    "a panic when the tokenizer is loaded": (
        lambda files: changed(files, "tokenizer.json", normalizer={"type": "Precompiled", "precompiled_charsmap": ""}),
        "tokenizer.json: precompiled_charsmap of normalizer",
    ),
    "a pattern that takes exponential time": (
        lambda files: prefixed(
            files,
            {"type": "Split", "pattern": {"Regex": r"([a-z]+ ?)+\d{99}"}, "behavior": "Isolated", "invert": False},
        ),
        "has the regular expression",
    ),
    "a panic at any text": (
        lambda files: prefixed(files, {"type": "FixedLength", "length": 0}),
        "must be a whole number from 1",
    ),
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_tokenizer_that_would_hang_or_panic_is_refused_with_a_sentence(researcher, files, case):
    break_it, sentence = BOMBS[case]
    answer = submitted(researcher, zipped(break_it(files)))
    assert sentence in html.unescape(answer.text)


def test_what_a_template_raises_tells_nothing_of_the_worker(arena, researcher, files):
    answer = submitted(researcher, zipped(changed(files, "tokenizer_config.json", chat_template=TELLS)))
    ended = wait_for_end(arena, planner_of(answer))
    rows = arena.results(ended["id"])
    assert rows
    assert any("said by the template: </s><s>" in row["reason_text"] for row in rows)
    assert_tells_no_secret(arena, json.dumps(rows))


def planner_of(answer: httpx.Response) -> str:
    found = re.search(r"hostile-[0-9a-f]{8}", str(answer.url) + answer.text)
    assert found is not None, answer.text[:3000]
    return found[0]


def wait_for_end(arena: Arena, planner: str) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        of_it = [one for one in arena.evaluations() if planner in json.dumps(one)]
        return next((one for one in of_it if one["state"] in {"failed", "completed", "on_hold"}), None)

    return dict(arena.wait_for(ended, what=f"the end of {planner}'s evaluation", seconds=120))


def assert_tells_no_secret(arena: Arena, text: str) -> None:
    kept = [path.read_text().strip() for path in (arena.data / "secrets").iterdir()]
    assert kept
    assert not [secret for secret in kept if secret in text]
