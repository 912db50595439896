"""Leases of planners with a language model on the worker: a real runner, tiny models, a hub on 127.0.0.1, and shared
model servers."""

import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.core.language_model import Ability, Completion
from evaluator.core.suites.hidden import data_digest
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import episode_of
from evaluator.execution.engine.store import MemoryStore
from gpu_jobs.checkpoints import CheckpointError
from gpu_jobs.hub_cache import HubCache
from gpu_jobs.language_models import LanguageModels
from gpu_jobs.model_server.client import NoServerFreeError, RemoteModel
from gpu_jobs.model_server.isolation.confinement import Layer
from gpu_jobs.model_server.isolation.sandbox import Sandbox, detected
from gpu_jobs.model_server.opening import open_model
from gpu_jobs.planners import HeldLease, LeaseRefusedError, LeaseReturnedError
from gpu_jobs.runner import EvaluatorRunner
from tests.evaluator.execution.experts.hub_server import serving
from tests.fakes.api import LEASE, FakeApi
from tests.gpu_jobs.model_server.serving import CHILD
from tests.gpu_jobs.test_worker import make_worker

COMMIT = "c" * 40
DIGEST = "d" * 64
TASK = "QA/0"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    # What the variable HF_HUB_CACHE sets, which the hub's client reads when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    # A busy machine takes longer for a prompt than a small model may elsewhere.
    for what in ("LOAD", "ANSWER", "CALL"):
        monkeypatch.setenv(f"PLANARENA_MODEL_{what}_SECONDS", "200")


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


def rules() -> str:
    return episode_of("toolmini").rules_digest("none")


def make_lease(*tasks: str, **planner: object) -> HeldLease:
    suite = suite_of("toolmini")
    chosen = {"kind": "hub", "model_id": "own/planner", "commit": COMMIT, "strategy": "hugginggpt", **planner}
    judged = {"suite": suite.slug, "suite_digest": suite.digest, "profile": "none", "profile_digest": rules()}
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
    (first,) = runner._models._models.values()
    assert isinstance(first, RemoteModel)
    for _ in range(2):
        assert ends(runner, uploaded()) == [("planner_fault", "prompt_too_long")]
    assert folders.asked == [DIGEST]
    assert first not in runner._models._models.values()
    assert len(runner._models._models) == 1


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


def test_what_nobody_can_load_is_the_planner_s_fault_and_says_why(tmp_path):
    folder = fill(tmp_path / "secret-place")
    (folder / "config.json").write_text("[]")
    folders = Folders(d=folder)
    runner = runner_of(checkpoints=folders)
    records = [*runner.run(uploaded(TASK, "QA/1")), *runner.run(uploaded("QA/2"))]
    assert [(record.outcome, record.reason) for record in records] == [("planner_fault", "model_unusable")] * 3
    assert "config.json is no JSON object" in records[0].reason_text
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


def test_a_server_that_dies_is_the_planner_s_fault_and_the_worker_goes_on(tmp_path, spacious):
    folder = fill(tmp_path / "m", spacious)
    dies = Sandbox(layers=frozenset({Layer.LIMITS}), program=("-c", f"{CHILD}os.abort()"))
    sandboxes = [dies, detected().sandbox]

    def opener(folder, **settings):
        return open_model(folder, **settings, sandbox=sandboxes.pop(0))

    runner = runner_of(checkpoints=Folders(d=folder, a=folder), opener=opener)
    (record,) = runner.run(uploaded())
    assert (record.outcome, record.reason) == ("planner_fault", "model_unusable")
    assert "it was ended by SIGABRT" in record.reason_text
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


def test_where_no_model_server_is_free_the_tasks_are_given_back(tmp_path):
    class FullOpener:
        is_shared = True

        def deliver(self, folder: Path) -> None:
            raise NoServerFreeError("No model server was free at models:7070 within 900 seconds.")

        def __call__(self, folder, *, name, device, source):
            raise AssertionError("nothing was delivered")

    runner = runner_of(checkpoints=Folders(d=fill(tmp_path / "d")), opener=FullOpener())
    lease = uploaded()
    with pytest.raises(LeaseReturnedError, match="No model server was free"):
        ends(runner, lease)
    api = FakeApi({**lease.model_dump(mode="json"), "token": "attempt-token"})
    assert make_worker(api, runner).run() == 0
    (how, body), *_ = api.ended
    assert (how, body["how"]) == ("fail", "released")
    assert "No model server was free" in body["reason"]


class SharedOpener:
    """Opens models that count how often they were closed, in servers that other workers share or do not."""

    def __init__(self, *, is_shared: bool) -> None:
        self.is_shared = is_shared
        self.opened: list[SharedOpener.Model] = []

    class Model:
        name, abilities, is_broken = "m", frozenset(), False

        def __init__(self) -> None:
            self.closed = 0

        def close(self) -> None:
            self.closed += 1

    def deliver(self, folder: Path) -> None:
        """Takes nothing."""

    def __call__(self, folder, *, name, device, source):
        self.opened.append(self.Model())
        return self.opened[-1]


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_shared_model_server_is_let_go_when_it_is_not_needed_and_opened_again(tmp_path, is_shared):
    opener = SharedOpener(is_shared=is_shared)
    models = LanguageModels(device="cpu", checkpoints=Folders(d=fill(tmp_path / "d")), opener=opener)
    lease = uploaded()
    models.release_shared()
    first = models._opened(lease=lease, message=lease.planner)
    models.release_shared()
    models.release_shared()
    assert first.closed == (1 if is_shared else 0)
    assert (models._opened(lease=lease, message=lease.planner) is first) == (not is_shared)
    assert len(opener.opened) == (2 if is_shared else 1)


def test_a_runner_lets_a_shared_model_server_go_for_a_planner_without_a_model(tmp_path):
    opener = SharedOpener(is_shared=True)
    runner = runner_of(checkpoints=Folders(d=fill(tmp_path / "d")), opener=opener)
    lease = uploaded()
    kept = runner._models._opened(lease=lease, message=lease.planner)
    list(runner.run(HeldLease.model_validate({**lease.model_dump(), "planner": {"kind": "bundled", "name": "gold"}})))
    assert kept.closed == 1
    again = runner._models._opened(lease=lease, message=lease.planner)
    runner.idle()
    assert again.closed == 1


class OpenedModel:
    """A model that answers with its own name."""

    abilities = frozenset({Ability.GENERATE})
    is_broken = False

    def __init__(self, name):
        self.name, self.closed, self.roles = name, False, []

    def answer(self, calls):
        self.roles += [call.role for call in calls]
        return [Completion(text='{"thought": "", "score": 1}') for _ in calls]

    def identity(self):
        return {"name": self.name}

    def close(self):
        self.closed = True


def test_each_role_is_asked_by_its_own_model_and_both_stay_loaded_for_the_next_lease(tmp_path):
    pair = {digest: fill(tmp_path / digest) for digest in ("a", "b")}
    opened = {}

    def open_model(folder, *, name, device, source):
        del folder, device
        assert source.keys() == {"kind", "digest"}
        opened[name] = OpenedModel(name)
        return opened[name]

    runner = runner_of(checkpoints=Folders(**pair, d=fill(tmp_path / "d")), opener=open_model)
    planner = {
        "kind": "checkpoint", "digest": "a" * 64, "bytes": 1, "strategy": "controlllm/beam",
        "roles": {"decompose": {"kind": "checkpoint", "digest": "b" * 64, "bytes": 1}},
    }  # fmt: skip
    lease = HeldLease.model_validate({**make_lease().model_dump(), "planner": planner})
    ends(runner, lease)
    ends(runner, lease)
    main, decomposer = (opened[f"checkpoint:{letter * 64}"] for letter in "ab")
    assert len(opened) == 2
    assert set(decomposer.roles) == {"decompose"}
    assert "decompose" not in main.roles
    ends(runner, uploaded())
    assert main.closed
    assert decomposer.closed
    foreign = {**planner, "roles": {"ground": planner["roles"]["decompose"]}}
    with pytest.raises(LeaseRefusedError, match="knows no role ground of the strategy controlllm/beam"):
        ends(runner, HeldLease.model_validate({**lease.model_dump(), "planner": foreign}))


def test_a_role_s_missing_model_fails_every_task_with_its_name(tmp_path):
    folders = Folders(d=fill(tmp_path / "d"), b=CheckpointError("It was lost."))
    runner = runner_of(checkpoints=folders, opener=lambda folder, *, name, device, source: OpenedModel(name))
    lease = uploaded()
    roles = {"decompose": {"kind": "checkpoint", "digest": "b" * 64, "bytes": 1}}
    planner = {**lease.planner.model_dump(), "strategy": "controlllm/beam", "roles": roles}
    (record,) = runner.run(HeldLease.model_validate({**lease.model_dump(), "planner": planner}))
    assert record.reason == "model_unavailable"
    assert record.reason_text.startswith("Role decompose: It was lost.")


def test_where_every_role_has_a_model_no_other_is_opened(tmp_path):
    opened = []

    def open_model(folder, *, name, device, source):
        del folder, device, source
        opened.append(OpenedModel(name))
        return opened[-1]

    runner = runner_of(checkpoints=Folders(a=fill(tmp_path / "a"), b=fill(tmp_path / "b")), opener=open_model)
    models = {"assess": "a", "decompose": "b", "respond": "a"}
    roles = {role: {"kind": "checkpoint", "digest": digest * 64, "bytes": 1} for role, digest in models.items()}
    planner = {"kind": "roles", "strategy": "controlllm/beam", "roles": roles}
    lease = HeldLease.model_validate({**make_lease().model_dump(), "planner": planner})
    ends(runner, lease)
    asked = {model.name[-1]: set(model.roles) for model in opened}
    assert asked == {"b": {"decompose"}, "a": set()}
    none = HeldLease.model_validate({**lease.model_dump(), "planner": {**planner, "roles": {}}})
    with pytest.raises(LeaseRefusedError, match="no language model"):
        ends(runner, none)
