"""What a worker refuses before it begins."""

import json

import pytest

from evaluator.core.planner import request_for
from evaluator.core.suites.hidden import commitment, data_digest
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.sandbox.programs.support import Support
from evaluator.sandbox.programs.wire import Layer
from gpu_jobs import __main__ as program
from gpu_jobs.contract import Phase
from gpu_jobs.language_models import LanguageModels
from gpu_jobs.planners import HeldLease, LeaseRefusedError
from gpu_jobs.runner import EvaluatorRunner
from tests.evaluator.planners.test_endpoint import endpoint
from tests.fakes.api import LEASE
from tests.fakes.chat_services import serving as chat_service

OPEN_DATA = data_digest(source="", split="all")
SEED, SEASON = "5eed" * 16, "2026-a"


def hidden(*, seed: str = SEED) -> dict[str, str]:
    """What a lease says of the hidden data of this seed."""
    committed = commitment(seed=seed, season=SEASON, suite="toolmini")
    digest = data_digest(source="", split="hidden", season=SEASON, committed=committed)
    return {"split": "hidden", "season": SEASON, "commitment": committed, "data_digest": digest}


def rules() -> str:
    return episode_of("toolmini").rules_digest("none")


def make_lease(**changes: object) -> HeldLease:
    suite = suite_of("toolmini")
    judged = {"suite": suite.slug, "suite_digest": suite.digest, "profile": "none", "profile_digest": rules()}
    return HeldLease.model_validate(
        {**LEASE, **judged, "split": "all", "data_digest": OPEN_DATA, "tasks": ["QA/0"], **changes}
    )


def run(lease: HeldLease) -> list[float | None]:
    return [record.score for record in EvaluatorRunner(store=MemoryStore(), device="cpu").run(lease)]


def test_the_phases_of_a_lease_follow_its_work():
    runner = EvaluatorRunner(store=MemoryStore(), device="cpu")
    assert runner.phase.now is Phase.PREPARING
    list(runner.run(make_lease()))
    assert runner.phase.now is Phase.PLANNING


def test_a_lease_with_a_perturbation_asks_in_that_form():
    # Gold plans are in the suite's names, of which none is offered here.
    assert run(make_lease(perturbation="framed")) == [1.0]
    assert run(make_lease(perturbation="renamed-tools")) == [0.0]


def test_each_repetition_of_a_planner_with_seeds_draws_differently():
    tasks = [task.key for task in suite_of("toolmini").tasks[:20]]
    planner = {"kind": "bundled", "name": "random-valid"}
    plans = []
    for repetition in (1, 1, 2):
        lease = make_lease(planner=planner, tasks=tasks, repetition=repetition)
        plans.append({one.task: one.plan for one in EvaluatorRunner(store=MemoryStore(), device="cpu").run(lease)})
    assert plans[0] == plans[1] != plans[2]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"profile_digest": "0" * 64}, "the scoring of toolmini under none has the digest"),
        ({"suite_digest": "0" * 64}, "suite toolmini has the digest"),
        ({"data_digest": "0" * 64}, "the all data of toolmini has the digest"),
        ({**hidden(seed="a5" * 32), "hidden_seed": SEED}, "the seed of season 2026-a of toolmini does not match its"),
        ({**hidden(), "hidden_seed": SEED, "data_digest": OPEN_DATA}, "the hidden data of toolmini has the digest"),
        ({"suite": "unheard-of"}, "cannot run unheard-of"),
        ({"perturbation": "unheard-of"}, "cannot perturb requests: .*unheard-of"),
        ({"planner": {"kind": "bundled", "name": "unheard-of"}}, "no bundled planner"),
        ({"planner": {"kind": "bundled", "name": "hugginggpt:chat:http://10.0.0.1/v1#m"}}, "no bundled planner"),
        ({"planner": {"kind": "bundled", "name": "controlllm/greedy:scripted:/etc/passwd"}}, "no bundled planner"),
    ],
)
def test_what_differs_from_the_server_is_refused(changes, complaint):
    with pytest.raises(LeaseRefusedError, match=complaint):
        run(make_lease(**changes))


def hidden_run(**changes: object) -> list:
    runner = EvaluatorRunner(store=MemoryStore(), device="cpu")
    return list(runner.run(make_lease(**hidden(), hidden_seed=SEED, **changes)))


def test_on_the_hidden_split_other_requests_are_asked_and_judged_under_the_public_keys():
    tasks = ["QA/0", "image_detection/0"]
    public = [suite_of("toolmini").task(key).text for key in tasks]
    records = hidden_run(tasks=tasks)
    assert sorted(record.task for record in records) == tasks
    assert [record.score for record in records] == [1.0, 1.0]
    assert not {record.request for record in records} & set(public)


def test_an_endpoint_on_the_hidden_split_is_told_neither_key_nor_public_request():
    with endpoint((200, b'{"plan": ""}')) as (url, seen):
        wanted = {"kind": "endpoint", "url": url, "timeout_seconds": 5, "allow_private": True}
        hidden_run(planner=wanted, tasks=["image_detection/0"])
    asked = json.dumps(seen, default=str)
    assert "image_detection/0" not in asked
    assert suite_of("toolmini").task("image_detection/0").text not in asked


def test_the_hidden_split_is_refused_without_its_seed():
    with pytest.raises(LeaseRefusedError, match="needs its secret seed"):
        run(make_lease(split="hidden"))


def opened(wanted: dict[str, object], *, suite: str):
    models = LanguageModels(device="cpu", checkpoints=None)
    return models.planner(lease=make_lease(planner=wanted), suite=suite_of(suite))


CHAT = {"kind": "chat", "url": "https://chat.example.org/v1", "model": "m", "timeout_seconds": 3}


@pytest.mark.parametrize(
    ("strategy", "suite", "sentence"),
    [
        ("openagi/constrained", "openagi", "can only call tools, generate"),
        ("controlllm/adaptive", "openagi", "does not understand requests of openagi"),
        ("no-such-strategy", "toolmini", "no-such-strategy"),
    ],
)
def test_a_strategy_that_a_chat_endpoint_cannot_do_is_refused_before_any_task(strategy, suite, sentence):
    with pytest.raises(LeaseRefusedError, match=sentence), opened({**CHAT, "strategy": strategy}, suite=suite):
        pass


def test_the_address_is_in_no_name():
    with opened({**CHAT, "strategy": "hugginggpt"}, suite="toolmini") as planner:
        assert planner.name == "hugginggpt:chat:m"


def test_a_worker_calls_the_api_as_its_lease_says():
    with chat_service("responses", lambda _: "Image Denoising") as service:
        how = {"reasoning_effort": "low", "answer_tokens": 4096, "streamed": True, "api": "responses"}
        url = service.url.removesuffix("/responses")
        wanted = {**CHAT, **how, "url": url, "strategy": "openagi/zero-shot", "allow_private": True}
        suite = suite_of("openagi")
        task = suite.tasks[0]
        context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
        with opened(wanted, suite="openagi") as planner:
            planner.plan(request_for(suite=suite, task=task, context=context))
    sent = service.requests[-1]
    assert (sent["max_output_tokens"], sent["reasoning"]["effort"], sent["stream"]) == (4096, "low", True)


def test_a_machine_that_confines_no_programs_is_warned_about(caplog, monkeypatch):
    lacking = Support(layers=frozenset({Layer.LANGUAGE, Layer.LIMITS}), missing={Layer.SECCOMP: "no libseccomp"})
    monkeypatch.setattr(program, "support", lambda: lacking)
    program.report_programs()
    (record,) = [one for one in caplog.records if one.name == "gpu_jobs"]
    assert record.levelname == "WARNING"
    assert "seccomp (no libseccomp)" in record.getMessage()
    assert "cannot keep programs from files, the network, other processes" in record.getMessage()
