"""Looking a model up at a hub, served over real HTTP, which also misbehaves."""

import json
import tempfile
from functools import partial

import pytest

from evaluator.sandbox.admission.checkpoint_zip import inspect
from evaluator.sandbox.admission.hub_lookup import HubAwayError, language_model_files, look_up
from evaluator.sandbox.admission.rules import ModelRefusedError
from evaluator.sandbox.admission.settings_files import inspect_settings, inspect_settings_confined
from evaluator.sandbox.limited_process import Limits
from tests.evaluator.execution.experts.hub_server import serving
from tests.fakes.checkpoints import tiny_files, zipped_folder

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DESCRIPTION = "/api/models/"


@pytest.fixture
def repository(tmp_path):
    """The folder of `own/planner` on the hub, to be changed."""
    folder = tmp_path / "own" / "planner"
    folder.mkdir(parents=True)
    restore(folder)
    return folder


def restore(repository):
    for name, data in tiny_files().items():
        (repository / name).write_bytes(data)


def asked(repository, *, revision="main", model_id="own/planner", said=None, answers=None, **more):
    known = {"commits": {"own/planner": COMMIT}, "revisions": ("main", "v1", "release/2")}
    with serving(repository.parents[1], **known, said=said, answers=answers) as hub:
        # In this process: starting one for each of these tests takes half a minute.
        more = {"inspect": inspect_settings, **more}
        return look_up(model_id=model_id, revision=revision, hub=hub, **more)


def refusal(repository, **changes):
    with pytest.raises(ModelRefusedError) as refused:
        asked(repository, **changes)
    return str(refused.value)


def away(repository, **changes):
    with pytest.raises(HubAwayError) as problem:
        asked(repository, **changes)
    assert "try again" in str(problem.value)
    return str(problem.value)


def change(path, content):
    path.write_bytes(
        content if isinstance(content, bytes) else json.dumps({**json.loads(path.read_text()), **content}).encode()
    )


def test_a_revision_is_pinned_to_its_commit(repository):
    for revision in ("main", "v1", "release/2", COMMIT):
        found = asked(repository, revision=revision, said={"safetensors": {"total": 1234, "parameters": {"F32": 1234}}})
        assert (found.commit, found.architecture, found.licence, found.parameters) == (COMMIT, "gpt2", "mit", 1234)
        assert found.weights_bytes == (repository / "model.safetensors").stat().st_size


def test_a_number_of_parameters_that_is_none_is_unknown_and_a_licence_is_what_the_card_says(repository):
    for total in (None, "many", -1, 0, 10**30, True, {}):
        assert asked(repository, said={"safetensors": {"total": total}}).parameters is None, total
    cards = [
        (None, ""), ({}, ""), ({"license": ["mit", "other"]}, "mit, other"), ({"license": "x" * 500}, "x" * 100),
        ({"license": {"a": 1}}, ""), ({"license": "a\nb"}, ""),
    ]  # fmt: skip
    for card, licence in cards:
        assert asked(repository, said={"cardData": card}).licence == licence, card


def answering(status, error=None):
    return {DESCRIPTION: lambda hub: hub.send({}, status=status, error=error, body=True)}


REFUSALS = [
    ({"model_id": "own/nothing"}, "has no model own/nothing"),
    ({"revision": "nightly"}, "own/planner has no revision 'nightly'"),
    *(({"said": {"gated": gated}}, "own/planner is gated") for gated in ("auto", "manual", True)),
    *(({"answers": answering(status, "GatedRepo")}, "is gated") for status in (401, 403, 404)),
    *(({"answers": answering(status)}, "may be private") for status in (401, 403, 404)),
    ({"said": {"private": True}}, "is private"),
]


def test_a_model_that_is_missing_gated_or_private_is_refused(repository):
    for asks, sentence in REFUSALS:
        assert sentence in refusal(repository, **asks), asks


def test_a_name_or_revision_that_is_none_is_never_asked_for():
    names = ["planner", "own/", "/planner", "own/../planner", "own/planner/x", "own/pl anner", "http://a/b", ""]
    for name in names:
        with pytest.raises(ModelRefusedError, match="is no ORG/NAME"):
            look_up(model_id=name, revision="main", hub="http://127.0.0.1:9")
    for revision in ("", "a b", "../main", "x" * 200, "-rf", "a?b=c", "a#b", "é"):
        with pytest.raises(ModelRefusedError, match="is no branch, tag or commit"):
            look_up(model_id="own/planner", revision=revision, hub="http://127.0.0.1:9")


def test_weights_in_other_forms_and_missing_files_are_named(repository):
    for other in ("pytorch_model.bin", "model.pt", "adapter_model.safetensors", "sub.safetensors"):
        (repository / "model.safetensors").rename(repository / other)
        sentence = refusal(repository)
        assert "own/planner@main has no weights as safetensors" in sentence
        assert (other in sentence) == other.endswith((".bin", ".pt"))
        (repository / other).rename(repository / "model.safetensors")
    (repository / "config.json").rename(repository / "settings.json")
    assert "has no config.json" in refusal(repository)
    (repository / "tokenizer.json").unlink()
    assert "has no tokenizer" in refusal(repository)


def garbage(data: bytes, status: int = 200, headers=()):
    def answer(hub):
        hub.send_response(status)
        for name, value in headers:
            hub.send_header(name, value)
        hub.send_header("Content-Length", str(len(data)))
        hub.end_headers()
        hub.wfile.write(data)

    return answer


def endless(hub):
    hub.send_response(200)
    hub.end_headers()
    try:
        while True:
            hub.wfile.write(b" " * 1_000_000)
    except OSError:
        pass


def sizes(size):
    files = ("model.safetensors", "config.json", "tokenizer.json")
    return {"siblings": [{"rfilename": name, "size": size} for name in files]}


AWAY = [
    *(({"answers": {DESCRIPTION: garbage(b"{}", status)}}, f"HTTP {status}") for status in (418, 503)),
    *(({"answers": {"/own/": garbage(b"{}", status)}}, f"HTTP {status} ({kind}) for config.json")
      for status, kind in ((418, "permanent"), (503, "transient"))),
    *(({"answers": {DESCRIPTION: garbage(data)}}, "no description of a model")
      for data in (b"<html>", b"[]", b"\xff\xfe", b"[" * 100_000)),
    *(({"said": {"sha": sha}}, "names no commit") for sha in (None, 7, "", "main", "../../x", "0" * 39, "g" * 40)),
    *(({"said": {"siblings": listed}}, "lists no files") for listed in (None, [], {}, [7], [{"rfilename": 7}])),
    *(({"said": sizes(size)}, "does not say how large") for size in (None, -1, "7", 1.5, True)),
    ({"answers": {DESCRIPTION: garbage(b"", 302, [("Location", "http://169.254.169.254/latest/")])}},
     "redirects to another host"),
    ({"answers": {DESCRIPTION: garbage(b"", 307, [("Location", f"{DESCRIPTION}own/planner/revision/main")])}},
     "redirects without end"),
]  # fmt: skip


def test_a_hub_that_fails_or_says_nonsense_is_away(repository):
    for asks, sentence in AWAY:
        assert sentence in away(repository, **asks), asks


def test_a_hub_that_is_not_there_is_away():
    with pytest.raises(HubAwayError, match=r"http://127\.0\.0\.1:9 did not answer"):
        look_up(model_id="own/planner", revision="main", hub="http://127.0.0.1:9")


def test_small_files_may_lie_elsewhere_on_the_hub(repository):
    def there(hub):
        garbage(b"", 307, [("Location", f"/elsewhere{hub.path}")])(hub)

    def here(hub):
        hub.give(repo="own/planner", name=hub.path.split("/")[-1], body=True)

    moved = {"/own/planner/resolve/": there, "/elsewhere/": here}
    assert asked(repository, answers=moved).architecture == "gpt2"


OWN_CODE = {"auto_map": {"AutoModelForCausalLM": "modeling_own.OwnModel"}}
REFUSED_SETTINGS = [
    # What each form of code and architecture is refused for is in the tests of their checks.
    ("config.json", OWN_CODE),
    ("tokenizer_config.json", OWN_CODE),
    ("config.json", {"generation": {"with": ["custom/generate.py"]}}),
    *(("config.json", {"model_type": architecture}) for architecture in ("own-architecture", "vit", "clip", 7, None)),
    *(("config.json", data) for data in (b"[]", b"\xff", b"[" * 100_000)),
    ("tokenizer.json", b"\xff"),
    ("chat_template.jinja", b"\xff"),
    ("chat_template.jinja", b"x" * 70_000),
    ("chat_template.json", json.dumps({"chat_template": "x" * 70_000}).encode()),
    ("tokenizer_config.json", {"chat_template": "x" * 70_000}),
    ("tokenizer_config.json", {"vocab_file": "/etc/passwd"}),
    ("special_tokens_map.json", b'{"eos_token": 7}'),
    ("model.safetensors.index.json", b'{"weight_map": {"a": "../model.safetensors"}}'),
]


class TestSettings:
    def test_a_hub_model_is_refused_with_the_sentence_for_an_upload(self, repository, tmp_path):
        for name, content in REFUSED_SETTINGS:
            change(repository / name, content)
            (tmp_path / "own.zip").write_bytes(zipped_folder(repository))
            with pytest.raises(ModelRefusedError) as upload:
                inspect(tmp_path / "own.zip", most_unpacked_bytes=10**9)
            assert refusal(repository) == str(upload.value), (name, content)
            (repository / name).unlink()
            restore(repository)

    def test_the_files_are_read_in_a_process_with_limits(self, repository):
        assert asked(repository, inspect=inspect_settings_confined).architecture == "gpt2"
        change(repository / "tokenizer_config.json", OWN_CODE)
        assert "code of its own" in refusal(repository, inspect=inspect_settings_confined)

    def test_a_file_that_takes_too_much_memory_to_read_is_refused(self, repository):
        (repository / "tokenizer_config.json").write_bytes(b'{"a": [' + b"[]," * 1_300_000 + b"[]]}")
        limits = Limits(memory_bytes=160 * 1024**2, cpu_seconds=20, wall_seconds=60)
        sentence = refusal(repository, inspect=partial(inspect_settings_confined, limits=limits))
        assert sentence == "Reading the model's settings and tokenizer takes more than 160 MiB of memory."

    def test_a_file_that_is_described_as_too_large_is_not_fetched(self, repository):
        mib = 1024**2
        for name, most in {"config.json": 4 * mib, "chat_template.jinja": 4 * mib, "tokenizer.json": 64 * mib}.items():
            sizes = {path.name: path.stat().st_size for path in repository.iterdir()} | {name: most + 1}
            files = [{"rfilename": name, "size": size} for name, size in sizes.items()]
            fetched = []
            sentence = refusal(repository, said={"siblings": files}, answers={"/own/": fetched.append})
            assert sentence == f"{name} has {most + 1} bytes; at most {most} are possible."
            assert fetched == []

    def test_a_file_that_is_larger_than_described_is_read_up_to_the_limit(self, repository):
        place = f"/own/planner/resolve/{COMMIT}/tokenizer.json"
        assert "sent more than 67108864 bytes for tokenizer.json" in away(repository, answers={place: endless})

    def test_large_files_may_lie_at_another_host(self, repository):
        place = f"/own/planner/resolve/{COMMIT}/tokenizer.json"
        known = {"commits": {"own/planner": COMMIT}}
        with serving(repository.parents[1], **known) as elsewhere:
            moved = garbage(b"", 302, [("Location", elsewhere + place)])
            assert asked(repository, answers={place: moved}, allow_private=True).architecture == "gpt2"
            sentence = away(repository, answers={place: moved})
        assert "redirects to an address that may not be called: 127.0.0.1 is a loopback" in sentence

    def test_nothing_fetched_is_left(self, repository, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        asked(repository)
        change(repository / "config.json", OWN_CODE)
        refusal(repository)
        assert not list(tmp_path.glob("hub-*"))


def test_pickled_weights_programs_and_ways_of_decoding_are_never_fetched():
    needed = ("config.json", "model.safetensors", "tokenizer.json")
    assert language_model_files([*needed, "generation_config.json", "pytorch_model.bin", "x.py"]) == needed
