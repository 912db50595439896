"""Looking a model up at a hub, served over real HTTP, which also misbehaves."""

import json
import tempfile
import threading
import time
from functools import partial

import pytest

from evaluator.limited_process import Limits
from evaluator.planners.language_models.admission.checkpoint_zip import inspect
from evaluator.planners.language_models.admission.hub_lookup import HubAwayError, language_model_files, look_up
from evaluator.planners.language_models.admission.rules import ModelRefusedError
from evaluator.planners.language_models.admission.settings_inspection import inspect_settings, inspect_settings_confined
from tests.evaluator.experts.hub_server import serving
from tests.fakes.checkpoints import zipped
from tests.fakes.tiny_models import gpt2, saved, unigram

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DESCRIPTION = "/api/models/"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A model as its repository."""
    tokenizer = unigram()
    return saved(tmp_path_factory.mktemp("tiny"), model=gpt2(tokenizer), tokenizer=tokenizer)


@pytest.fixture
def repository(tiny, tmp_path):
    """The folder of `own/planner` on the hub, to be changed."""
    folder = tmp_path / "own" / "planner"
    folder.mkdir(parents=True)
    for path in tiny.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def asked(
    repository, *, revision="main", model_id="own/planner", deadline=10.0, said=None, answers=None, **more
):  # fmt: skip
    known = {"commits": {"own/planner": COMMIT}, "revisions": ("main", "v1", "release/2")}
    with serving(repository.parents[1], **known, said=said, answers=answers) as hub:
        # In this process: starting one for each of these tests takes half a minute.
        return look_up(
            model_id=model_id,
            revision=revision,
            hub=hub,
            deadline_seconds=deadline,
            **{"inspect": inspect_settings, **more},
        )


def refusal(repository, **changes):
    with pytest.raises(ModelRefusedError) as refused:
        asked(repository, **changes)
    return str(refused.value)


def away(repository, **changes):
    with pytest.raises(HubAwayError) as problem:
        asked(repository, **changes)
    assert "try again" in str(problem.value)
    return str(problem.value)


def change(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize("revision", ["main", "v1", "release/2", COMMIT])
def test_a_revision_is_pinned_to_its_commit(repository, revision):
    found = asked(repository, revision=revision, said={"safetensors": {"total": 1234, "parameters": {"F32": 1234}}})
    assert (found.commit, found.architecture, found.licence, found.parameters) == (COMMIT, "gpt2", "mit", 1234)
    assert found.weights_bytes == (repository / "model.safetensors").stat().st_size


@pytest.mark.parametrize("total", [None, "many", -1, 0, 10**30, True, {}])
def test_a_number_of_parameters_that_is_none_is_unknown(repository, total):
    assert asked(repository, said={"safetensors": {"total": total}}).parameters is None


@pytest.mark.parametrize(
    ("card", "licence"),
    [(None, ""), ({}, ""), ({"license": ["mit", "other"]}, "mit, other"), ({"license": "x" * 500}, "x" * 100),
     ({"license": {"a": 1}}, ""), ({"license": "a\nb"}, "")],
)  # fmt: skip
def test_a_licence_is_what_the_card_says(repository, card, licence):
    assert asked(repository, said={"cardData": card}).licence == licence


class TestRefusals:
    def test_a_model_that_there_is_not(self, repository):
        assert "has no model own/nothing" in refusal(repository, model_id="own/nothing")

    def test_a_revision_that_there_is_not(self, repository):
        assert "own/planner has no revision 'nightly'" in refusal(repository, revision="nightly")

    @pytest.mark.parametrize(
        "name", ["planner", "own/", "/planner", "own/../planner", "own/planner/x", "own/pl anner", "http://a/b", ""]
    )
    def test_a_name_that_is_none_is_never_asked_for(self, name):
        with pytest.raises(ModelRefusedError, match="is no ORG/NAME"):
            look_up(model_id=name, revision="main", hub="http://127.0.0.1:9")

    @pytest.mark.parametrize("revision", ["", "a b", "../main", "x" * 200, "-rf", "a?b=c", "a#b", "é"])
    def test_a_revision_that_is_none_is_never_asked_for(self, revision):
        with pytest.raises(ModelRefusedError, match="is no branch, tag or commit"):
            look_up(model_id="own/planner", revision=revision, hub="http://127.0.0.1:9")

    @pytest.mark.parametrize("gated", ["auto", "manual", True])
    def test_a_gated_model(self, repository, gated):
        assert "own/planner is gated" in refusal(repository, said={"gated": gated})

    @pytest.mark.parametrize(("status", "code"), [(401, "GatedRepo"), (403, "GatedRepo"), (404, "GatedRepo")])
    def test_a_gated_model_that_is_not_described(self, repository, status, code):
        gate = {DESCRIPTION: lambda hub: hub.send({}, status=status, error=code, body=True)}
        assert "is gated" in refusal(repository, answers=gate)

    def test_a_private_model_is_as_none(self, repository):
        for status in (401, 403, 404):
            closed = {DESCRIPTION: lambda hub, status=status: hub.send({}, status=status, body=True)}
            assert "may be private" in refusal(repository, answers=closed)
        assert "is private" in refusal(repository, said={"private": True})

    @pytest.mark.parametrize("other", ["pytorch_model.bin", "model.pt", "adapter_model.safetensors", "sub.safetensors"])
    def test_weights_in_other_forms(self, repository, other):
        (repository / "model.safetensors").rename(repository / other)
        sentence = refusal(repository)
        assert "own/planner@main has no weights as safetensors" in sentence
        assert (other in sentence) == other.endswith((".bin", ".pt"))

    @pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
    def test_code_of_its_own(self, repository, name):
        change(repository / name, auto_map={"AutoModelForCausalLM": "modeling_own.OwnModel"})
        assert f"needs code of its own (auto_map in {name})" in refusal(repository)

    def test_a_program_that_the_configuration_names(self, repository):
        change(repository / "config.json", generation={"with": ["custom/generate.py"]})
        assert "'custom/generate.py' in config.json" in refusal(repository)

    @pytest.mark.parametrize("architecture", ["own-architecture", "vit", "clip", 7, None])
    def test_an_architecture_that_continues_no_texts(self, repository, architecture):
        change(repository / "config.json", model_type=architecture)
        assert "config.json" in refusal(repository)

    def test_more_layers_than_any_model_has(self, repository):
        change(repository / "config.json", n_layer=10**9)
        assert "config.json says n_layer 1000000000; " in refusal(repository)
        change(repository / "config.json", n_layer=99)
        assert asked(repository).architecture == "gpt2"

    @pytest.mark.parametrize("config", [b"[]", b"\xff", b"[" * 100_000])
    def test_a_configuration_that_is_none(self, repository, config):
        (repository / "config.json").write_bytes(config)
        assert "config.json is no JSON object" in refusal(repository)

    def test_no_configuration_and_no_tokenizer(self, repository):
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


def dripping(hub):
    hub.send_response(200)
    hub.end_headers()
    try:
        for _ in range(200):
            hub.wfile.write(b" ")
            time.sleep(0.05)
    except OSError:
        pass


class Silent:
    """Answers nothing until the test is over."""

    def __init__(self):
        self.over = threading.Event()

    def __call__(self, hub):
        self.over.wait(20)


def endless(hub):
    hub.send_response(200)
    hub.end_headers()
    try:
        while True:
            hub.wfile.write(b" " * 1_000_000)
    except OSError:
        pass


class TestAway:
    def test_nobody_listens(self):
        with pytest.raises(HubAwayError, match=r"http://127\.0\.0\.1:9 did not answer"):
            look_up(model_id="own/planner", revision="main", hub="http://127.0.0.1:9")

    @pytest.mark.parametrize("status", [418, 503])
    def test_it_answers_something_else(self, repository, status):
        assert f"HTTP {status}" in away(repository, answers={DESCRIPTION: garbage(b"{}", status)})
        assert f"HTTP {status} for config.json" in away(repository, answers={"/own/": garbage(b"{}", status)})

    @pytest.mark.parametrize("data", [b"<html>", b"[]", b"\xff\xfe", b"[" * 100_000])
    def test_it_answers_garbage(self, repository, data):
        assert "no description of a model" in away(repository, answers={DESCRIPTION: garbage(data)})

    @pytest.mark.parametrize("sha", [None, 7, "", "main", "../../x", "0" * 39, "g" * 40])
    def test_it_names_no_commit(self, repository, sha):
        assert "names no commit" in away(repository, said={"sha": sha})

    @pytest.mark.parametrize("siblings", [None, [], {}, [7], [{"rfilename": 7}]])
    def test_it_lists_no_files(self, repository, siblings):
        assert "lists no files" in away(repository, said={"siblings": siblings})

    @pytest.mark.parametrize("size", [None, -1, "7", 1.5, True])
    def test_it_does_not_say_how_large_the_weights_are(self, repository, size):
        files = [{"rfilename": name, "size": size} for name in ("model.safetensors", "config.json", "tokenizer.json")]
        assert "does not say how large" in away(repository, said={"siblings": files})

    def test_it_sends_without_end(self, repository):
        assert "sent more than" in away(repository, answers={"/own/": endless})

    def test_it_drips(self, repository):
        assert "is too slow" in away(repository, deadline=0.3, answers={DESCRIPTION: dripping})

    def test_it_says_nothing(self, repository):
        silent = Silent()
        with serving(repository.parents[1], commits={}, answers={DESCRIPTION: silent}) as hub:
            with pytest.raises(HubAwayError, match="did not answer"):
                look_up(model_id="own/planner", revision="main", hub=hub, deadline_seconds=0.3)
            silent.over.set()

    def test_it_leads_elsewhere(self, repository):
        elsewhere = garbage(b"", 302, [("Location", "http://169.254.169.254/latest/meta-data")])
        assert "redirects to another host" in away(repository, answers={DESCRIPTION: elsewhere})

    def test_it_leads_in_circles(self, repository):
        circle = garbage(b"", 307, [("Location", "/api/models/own/planner/revision/main")])
        assert "redirects without end" in away(repository, answers={DESCRIPTION: circle})

    def test_it_compresses_a_bomb(self, repository):
        bomb = garbage(b"\x1f\x8b", 200, [("Content-Encoding", "gzip")])
        assert "compresses" in away(repository, answers={DESCRIPTION: bomb})


def test_small_files_may_lie_elsewhere_on_the_hub(repository):
    def there(hub):
        garbage(b"", 307, [("Location", f"/elsewhere{hub.path}")])(hub)

    def here(hub):
        hub.give(repo="own/planner", name=hub.path.split("/")[-1], body=True)

    moved = {"/own/planner/resolve/": there, "/elsewhere/": here}
    assert asked(repository, answers=moved).architecture == "gpt2"


TEMPLATE = "{% include '/etc/passwd' %}"
REFUSED_SETTINGS = {
    "a pattern that backtracks": (
        "tokenizer.json",
        {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}},
    ),
    "an unknown component": ("tokenizer.json", {"normalizer": {"type": "Own"}}),
    "a tokenizer without a model": ("tokenizer.json", {"model": None}),
    "no JSON": ("tokenizer.json", b"["),
    "a template in a file": ("chat_template.jinja", TEMPLATE.encode()),
    "a template that is no text": ("chat_template.jinja", b"\xff"),
    "a template in JSON": ("chat_template.json", json.dumps({"chat_template": TEMPLATE}).encode()),
    "a template in the settings": ("tokenizer_config.json", {"chat_template": TEMPLATE}),
    "a file that the tokenizer would read": ("tokenizer_config.json", {"vocab_file": "/etc/passwd"}),
    "a token that is no text": ("special_tokens_map.json", b'{"eos_token": 7}'),
    "weights elsewhere": ("model.safetensors.index.json", b'{"weight_map": {"a": "../model.safetensors"}}'),
}


class TestSettings:
    @pytest.mark.parametrize("what", REFUSED_SETTINGS)
    def test_a_hub_model_is_refused_with_the_sentence_for_an_upload(self, repository, tmp_path, what):
        name, content = REFUSED_SETTINGS[what]
        if isinstance(content, bytes):
            (repository / name).write_bytes(content)
        else:
            change(repository / name, **content)
        (tmp_path / "own.zip").write_bytes(zipped({path.name: path.read_bytes() for path in repository.iterdir()}))
        with pytest.raises(ModelRefusedError) as upload:
            inspect(tmp_path / "own.zip", most_unpacked_bytes=10**9)
        assert refusal(repository) == str(upload.value)

    def test_the_files_are_read_in_a_process_with_limits(self, repository):
        assert asked(repository, inspect=inspect_settings_confined).architecture == "gpt2"
        change(repository / "tokenizer.json", normalizer={"type": "Own"})
        assert "tokenizer.json: normalizer" in refusal(repository, inspect=inspect_settings_confined)

    def test_a_file_that_takes_too_much_memory_to_read_is_refused(self, repository):
        (repository / "tokenizer.json").write_bytes(b"[" + b"[]," * 2_000_000 + b"[]]")
        limits = Limits(memory_bytes=160 * 1024**2, cpu_seconds=20, wall_seconds=60)
        sentence = refusal(repository, inspect=partial(inspect_settings_confined, limits=limits))
        assert sentence == "Reading the model's settings and tokenizer takes more than 160 MiB of memory."

    @pytest.mark.parametrize(
        ("name", "most"), [("config.json", 4 * 1024**2), ("chat_template.jinja", 4 * 1024**2),
                           ("tokenizer.json", 64 * 1024**2)],
    )  # fmt: skip
    def test_a_file_that_is_described_as_too_large_is_not_fetched(self, repository, name, most):
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

    @pytest.mark.parametrize("accepted", [True, False])
    def test_nothing_fetched_is_left(self, repository, tmp_path, monkeypatch, accepted):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        if accepted:
            asked(repository)
        else:
            change(repository / "tokenizer.json", normalizer={"type": "Own"})
            refusal(repository)
        assert not list(tmp_path.glob("hub-*"))


def test_pickled_weights_programs_and_ways_of_decoding_are_never_fetched():
    needed = ("config.json", "model.safetensors", "tokenizer.json")
    assert language_model_files([*needed, "generation_config.json", "pytorch_model.bin", "x.py"]) == needed
