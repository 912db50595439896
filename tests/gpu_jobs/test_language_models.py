"""Leases of planners with a language model on the worker: a real runner, tiny models, a hub on 127.0.0.1."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.engine.store import MemoryStore
from evaluator.suites import suite_of
from evaluator.suites.hidden import data_digest
from evaluator.suites.toolbench.judging import judge_digest
from gpu_jobs.attempt_secrets import HeldLease
from gpu_jobs.checkpoints import CheckpointError
from gpu_jobs.hub_cache import HubCache
from gpu_jobs.model_server.client import Deadlines, RemoteModel
from gpu_jobs.model_server.isolation.detection import detected
from gpu_jobs.model_server.opening import open_model
from gpu_jobs.planners import LeaseRefusedError
from gpu_jobs.runner import EvaluatorRunner
from tests.evaluator.experts.hub_server import serving
from tests.fakes.api import LEASE
from tests.rings import usual

COMMIT = "c" * 40
DIGEST = "d" * 64
TASK = "QA/0"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    # What the variable HF_HUB_CACHE sets, which the hub's client reads when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def spacious(tmp_path_factory):
    """The files of a model whose context has room for a strategy's prompts."""
    from tests.fakes.tiny_models import llama, saved, unigram

    tokenizer = unigram()
    tokenizer.model_max_length = 30_000
    folder = saved(tmp_path_factory.mktemp("m"), model=llama(tokenizer, length=30_000), tokenizer=tokenizer)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "hub" / "own" / "planner"
    folder.mkdir(parents=True)
    return fill(folder)


def fill(folder: Path, files=None) -> Path:
    from tests.fakes.checkpoints import tiny_files

    folder.mkdir(exist_ok=True)
    for name, data in (files or tiny_files()).items():
        (folder / name).write_bytes(data)
    return folder


def make_lease(*tasks: str, **planner: object) -> HeldLease:
    suite = suite_of("toolmini")
    chosen = {"kind": "hub", "model_id": "own/planner", "commit": COMMIT, "strategy": "hugginggpt", **planner}
    judged = {"suite": suite.slug, "suite_digest": suite.digest, "profile": "none", "profile_digest": judge_digest()}
    return HeldLease.model_validate(
        {
            **LEASE,
            **judged,
            "split": "all",
            "data_digest": data_digest(source="", split="all"),
            "planner": chosen,
            "tasks": list(tasks) or [TASK],
        }
    )


def uploaded(*tasks: str, digest: str = DIGEST) -> HeldLease:
    lease = make_lease(*tasks)
    planner = {"kind": "checkpoint", "digest": digest, "bytes": 1, "strategy": "hugginggpt"}
    return HeldLease.model_validate({**lease.model_dump(), "planner": planner})


class Folders:
    """Unpacked checkpoints by digest; counts how often one was wanted."""

    def __init__(self, **folders):
        self.folders, self.asked = folders, []

    def folder(self, lease, planner):
        del lease
        self.asked.append(planner.digest)
        found = self.folders.get(planner.digest[0])
        if isinstance(found, Exception):
            raise found
        return found


def runner_of(**options) -> EvaluatorRunner:
    return EvaluatorRunner(store=MemoryStore(), device="cpu", **options)


def ends(runner: EvaluatorRunner, lease: HeldLease) -> list[tuple[str, str]]:
    return [(record.outcome.value, record.reason.value) for record in runner.run(lease)]


@pytest.mark.full
def test_a_hub_s_model_plans_at_its_pinned_commit(repository, spacious, tmp_path):
    fill(repository, spacious)
    cache = HubCache(folder=tmp_path / "models", most_bytes=10**9)
    with serving(repository.parents[1], commits={"own/planner": COMMIT}) as hub:
        (record,) = runner_of(hub=hub, hub_cache=cache).run(make_lease())
    assert (tmp_path / "models" / "models--own--planner" / "snapshots" / COMMIT).is_dir()
    # A random model writes no plan; that it was asked and wrote something is what this is about.
    assert (record.outcome, record.reason) == ("planner_fault", "unparsable_plan")
    assert record.planner.completion_tokens > 0
    assert record.planner.prompt_tokens > 100


@pytest.mark.full
def test_the_model_stays_loaded_for_the_next_lease_and_gives_way_to_another(repository, tmp_path):
    other = fill(tmp_path)
    folders = Folders(d=other)
    runner = runner_of(checkpoints=folders)
    with serving(repository.parents[1], commits={"own/planner": COMMIT}) as hub:
        runner = runner_of(hub=hub, checkpoints=folders)
        assert ends(runner, make_lease(TASK, "QA/1")) == [("planner_fault", "prompt_too_long")] * 2
    # The hub is away now.
    assert ends(runner, make_lease("QA/2")) == [("planner_fault", "prompt_too_long")]
    first = runner._models._found
    assert isinstance(first, RemoteModel)
    for _ in range(2):
        assert ends(runner, uploaded()) == [("planner_fault", "prompt_too_long")]
    assert folders.asked == [DIGEST]
    assert runner._models._found is not first


def test_a_hub_in_trouble_is_no_fault_of_the_planner(repository):
    for status in (429, 500, 503):
        broken = {"/api/models/": lambda hub, status=status: hub.send({}, status=status, body=True)}
        with serving(repository.parents[1], commits={"own/planner": COMMIT}, answers=broken) as hub:
            assert ends(runner_of(hub=hub), make_lease()) == [("infra_fault", "model_unavailable")], status


def test_a_model_that_is_gone_from_the_hub_is_the_planner_s_fault(repository):
    with serving(repository.parents[1], commits={}) as hub:
        assert ends(runner_of(hub=hub), make_lease()) == [("planner_fault", "model_unusable")]
    with serving(repository.parents[1], commits={"own/planner": "e" * 40}, revisions=["main"]) as hub:
        (record,) = runner_of(hub=hub).run(make_lease())
    assert (record.outcome, record.reason) == ("planner_fault", "model_unusable")
    assert f"no revision of that name: own/planner@{COMMIT}" in record.reason_text


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.full
def test_a_tokenizer_that_would_hang_is_the_planner_s_fault_and_the_worker_goes_on(tmp_path, spacious):
    broken = fill(tmp_path / "broken", spacious)
    tokenizer = json.loads((broken / "tokenizer.json").read_text())
    # The regular expression takes exponential time for any text as long as a strategy's prompt.
    split = {"type": "Split", "pattern": {"Regex": "([a-z]+ ?)+\\d{99}"}, "behavior": "Isolated", "invert": False}
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, tokenizer["pre_tokenizer"]]}
    (broken / "tokenizer.json").write_text(json.dumps(tokenizer))
    good = fill(tmp_path / "good", spacious)
    runner = runner_of(checkpoints=Folders(b=broken, a=good))
    records = list(runner.run(uploaded(TASK, "QA/1", digest="b" * 64)))
    assert [(record.outcome, record.reason) for record in records] == [("planner_fault", "model_unusable")] * 2
    assert "has the regular expression" in records[0].reason_text
    assert ends(runner, uploaded(digest="a" * 64)) == [("planner_fault", "unparsable_plan")]


SPOILT = [
    (lambda folder: change(folder / "config.json", n_embd=64), "lack the right shapes"),
    (lambda folder: change(folder / "config.json", n_layer=3), "lack transformer.h.2"),
    (lambda folder: change(folder / "config.json", n_head=0), "n_head 0; possible are whole numbers from 1"),
    (lambda folder: change(folder / "config.json", n_embd=30_000), "describe a model of"),
    (lambda folder: change(folder / "config.json", n_positions=1_000_000), "says 1000000 positions"),
    (lambda folder: change(folder / "config.json", n_layer=10**9), "n_layer 1000000000; possible are"),
    (lambda folder: change(folder / "config.json", model_type="vit"), "no causal or sequence-to-sequence"),
    (lambda folder: change(folder / "config.json", auto_map={"AutoConfig": "a.B"}), "code of its own"),
    (lambda folder: change(folder / "config.json", vocab_size="many"), "vocab_size 'many'"),
    (lambda folder: (folder / "config.json").write_text("[]"), "config.json is no JSON object"),
    (lambda folder: (folder / "tokenizer.json").unlink(), "has no tokenizer.json"),
    (lambda folder: (folder / "tokenizer.json").write_text("{"), "tokenizer.json is no JSON object"),
    (lambda folder: (folder / "tokenizer.json").write_text('{"model": 7}'), "model is no object"),
    (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
    (lambda folder: (folder / "model.safetensors").write_bytes(b"garbage " * 99), "model.safetensors is no"),
]


@pytest.mark.parametrize(("spoil", "complaint"), usual(SPOILT, of=[SPOILT[0], SPOILT[9]]))
def test_what_nobody_can_load_is_the_planner_s_fault_and_says_why(tmp_path, spoil, complaint):
    folder = tmp_path / "secret-place"
    folder.mkdir()
    spoil(fill(folder))
    folders = Folders(d=folder)
    runner = runner_of(checkpoints=folders)
    records = [*runner.run(uploaded(TASK, "QA/1")), *runner.run(uploaded("QA/2"))]
    assert [(record.outcome, record.reason) for record in records] == [("planner_fault", "model_unusable")] * 3
    assert complaint in records[0].reason_text
    assert "secret-place" not in records[0].reason_text
    assert len(records[0].reason_text) < 700
    assert folders.asked == [DIGEST], "it is not tried again"


def test_what_this_machine_could_not_do_is_tried_again(tmp_path):
    folders = Folders()
    runner = runner_of(checkpoints=folders)
    for problem in (CheckpointError("it did not come"), MemoryError("no room"), OSError(28, "No space left")):
        folders.folders["d"] = problem
        assert ends(runner, uploaded()) == [("infra_fault", "model_unavailable")]
    folders.folders["d"] = fill(tmp_path)
    assert ends(runner, uploaded()) == [("planner_fault", "prompt_too_long")]


def test_a_strategy_that_this_worker_does_not_know_is_refused(tmp_path):
    runner = runner_of(checkpoints=Folders(d=tmp_path))
    for strategy in ("unheard-of", "openagi/constrained"):
        with pytest.raises(LeaseRefusedError, match=strategy):
            ends(runner, make_lease(strategy=strategy))
    with pytest.raises(LeaseRefusedError, match="takes no uploaded checkpoints"):
        ends(runner_of(), uploaded())


TAKEN_OVER = """
import json, os, signal, sys, time
from pathlib import Path
from gpu_jobs.model_server.digests import model_digest
from gpu_jobs.model_server.channel import Channel
from gpu_jobs.model_server.isolation.confinement import Confinement, confine
from gpu_jobs.model_server.server import channel_socket
connection = channel_socket()
holding = confine(Confinement.model_validate_json(sys.argv[1]), channel=connection.fileno())
channel = Channel(connection)
def say(message):
    channel.send(json.dumps(message).encode())
say({"type": "hello", "version": 1, "confined_by": holding})
folder = json.loads(channel.receive(most=1 << 20))["folder"]
identity = {"weights_digest": model_digest(Path(folder)), "precision": "float32", "architecture": "X",
            "template_digest": None, "device": "cpu", "batching": "padded"}
loaded = {"type": "loaded", "identity": identity}
"""


class FirstTakenOver:
    """Opens models as a worker does, but the first one in a server that runs a test's code."""

    def __init__(self, code, *, deadlines=None):
        self._code, self._deadlines = code, deadlines or Deadlines(load=20, answer=1, call=0)

    def __call__(self, folder, **settings):
        code, self._code = self._code, None
        sandbox = detected().sandbox
        if code is None:
            return open_model(folder, **settings, sandbox=sandbox)
        sandbox = replace(sandbox, program=("-c", TAKEN_OVER + code))
        return open_model(folder, **settings, sandbox=sandbox, deadlines=self._deadlines)


TAKEN_OVER_BY = [
    ("os._exit(3)", "model_unusable", "ended with the exit code 3, while it was loaded"),
    ("say(loaded); channel.receive(most=1 << 30); os.abort()", "model_unusable", "it was ended by SIGABRT"),
    ("say(loaded); time.sleep(600)", "planner_timeout", "did not answer within 1 seconds"),
    ("say(loaded); os.kill(os.getpid(), signal.SIGSTOP)", "planner_timeout", "did not answer within 1 seconds"),
    (
        "identity['weights_digest'] = 'a' * 64; say(loaded); time.sleep(9)",
        "model_unusable",
        "reports other weights",
    ),
    ("say(loaded); say({'type': 'answers', 'answers': 7}); time.sleep(9)", "model_unusable", "protocol"),
    ("say(loaded); os.write(connection.fileno(), b'\\xff' * 4096); time.sleep(9)", "model_unusable", "protocol"),
    ("kept = bytearray(8 << 30)", "model_unusable", "asked at once for more than the 1000 MB of memory"),
    (
        "kept = []\nwhile True: kept.append(b'x' * (8 << 20)); time.sleep(0.02)",
        "model_unusable",
        "MB of memory, more than",
    ),
]


@pytest.mark.parametrize(("code", "reason", "complaint"), usual(TAKEN_OVER_BY, of=[TAKEN_OVER_BY[1]]))
def test_a_server_that_fails_is_the_planner_s_fault_and_the_worker_goes_on(
    tmp_path, spacious, monkeypatch, code, reason, complaint
):
    monkeypatch.setenv("PLANARENA_MODEL_MEMORY", "1GB")
    folder = fill(tmp_path / "m", spacious)
    runner = runner_of(checkpoints=Folders(d=folder, a=folder), opener=FirstTakenOver(code))
    (record,) = runner.run(uploaded())
    assert (record.outcome, record.reason) == ("planner_fault", reason)
    assert complaint in record.reason_text
    assert str(tmp_path) not in record.reason_text
    assert ends(runner, uploaded(digest="a" * 64)) == [("planner_fault", "unparsable_plan")]


@pytest.mark.full
def test_no_model_is_loaded_in_the_worker(tmp_path, spacious):
    folder = fill(tmp_path / "m", spacious)
    program = (
        "import sys\nfrom pathlib import Path\nfrom gpu_jobs.model_server.opening import submitted_model_opener\n"
        f"model = submitted_model_opener()(Path({str(folder)!r}), name='m', device='cpu', source={{}})\n"
        "print(sorted({'torch', 'transformers', 'tokenizers', 'safetensors'} & set(sys.modules)), model.is_broken)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"
