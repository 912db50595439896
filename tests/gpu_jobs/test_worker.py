"""The worker, against an API in memory and with fake experts."""

import os
import signal
import subprocess
import sys
import time
from uuid import uuid4

import httpx
import pytest

from gpu_jobs.client import ApiClient
from gpu_jobs.contract import Phase
from gpu_jobs.delivery import Delivery
from gpu_jobs.exits import Exit
from gpu_jobs.planners import HeldLease
from gpu_jobs.probes import ALIVE, READY, remove_probe_files, touch
from gpu_jobs.worker import Terminated, Worker
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner


def make_worker(api: FakeApi, runner: FakeRunner, **changes) -> Worker:
    client = ApiClient(url="http://site", token="operator", transport=api.transport, sleep=lambda _: None)
    client._patience = changes.pop("patience", 300.0)
    return Worker(**{"client": client, "runner": runner, "name": "w", "idle_seconds": 0.0, **changes})


class Acting(FakeRunner):
    """Calls the test's function with each lease and task before it runs the task; what that returns changes the
    record."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def _record(self, *, lease, task):
        changes = self.act(lease, task)
        record = super()._record(lease=lease, task=task)
        return record.model_copy(update=changes) if isinstance(changes, dict) else record


def test_results_arrive_while_later_tasks_are_still_running():
    api = FakeApi({**LEASE, "tasks": ["0", "1", "2", "3"]})

    def watch(lease, task):
        until = time.monotonic() + 10
        while task == "3" and not api.results:
            assert time.monotonic() < until, "nothing arrived while a task was running"
            time.sleep(0.01)

    assert make_worker(api, Acting(watch)).run() == 0
    assert [how for how, _ in api.ended] == ["finish"]


def test_many_artefacts_go_in_few_requests():
    api, runner = FakeApi(), FakeRunner()
    lease = HeldLease.model_validate({**LEASE, "tasks": [str(number) for number in range(250)]})
    client = ApiClient(url="http://site", token="operator", transport=api.transport)
    with Delivery(client=client, lease=lease, store=runner.store, every_seconds=600) as delivery:
        for record in runner.run(lease):
            delivery.add(record)
        delivery.finish()
    assert len(api.objects) == 250
    # Results go 25 at a time, and with each 25 their artefacts in one body.
    assert sum("objects" in call for call in api.calls) == 2 * 10


def test_an_artefact_that_the_site_refuses_fails_the_attempt_and_is_named():
    api = FakeApi(LEASE)
    api.refused = {"d" * 64: "The bytes have another SHA-256."}
    make_worker(api, FakeRunner()).run()
    (how, body), *_ = api.ended
    assert (how, body["how"], "d" * 64 in body["reason"]) == ("fail", "failed", True)


def test_an_artefact_too_large_for_a_bundle_goes_alone(monkeypatch):
    monkeypatch.setattr("gpu_jobs.bundles.MOST_BYTES", 50)
    api = FakeApi(LEASE)
    make_worker(api, FakeRunner()).run()
    assert len(api.objects) == 3
    assert "attempts/a1/objects/" not in api.calls


@pytest.mark.parametrize("failure", [500, 502, 503, 429, httpx.ConnectError, httpx.ReadTimeout])
def test_a_server_that_is_away_for_a_while_costs_nothing_but_time(failure):
    api = FakeApi(LEASE, {**LEASE, "attempt": "a2"})
    api.failures.extend([failure] * 3)
    assert make_worker(api, Acting(lambda lease, task: api.failures.extend([failure] * 2))).run() == 0
    assert list(api.results) == ["0", "1", "2"]
    assert [how for how, _ in api.ended] == ["finish", "finish"]


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


class Away(FakeApi):
    """A server that is away for a while."""

    def __init__(self, *leases, clock: Clock, since: float = 0, until: float) -> None:
        super().__init__(*leases)
        self._clock, self._since, self._until = clock, since, until

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self._since <= self._clock() < self._until:
            raise httpx.ConnectError("refused")
        return super()._answer(request)


@pytest.mark.parametrize(("away", "code"), [(0, Exit.IDLE), (75, Exit.IDLE), (270, Exit.IDLE), (400, Exit.UNREACHABLE)])
def test_a_server_that_is_away_for_minutes_is_waited_for(away, code):
    clock = Clock()
    api = Away(LEASE, clock=clock, until=away)
    client = ApiClient(url="http://site", token="operator", transport=api.transport, sleep=clock.wait, clock=clock)
    assert Worker(client=client, runner=FakeRunner(), name="w", idle_seconds=0.0).run() == code
    assert len(api.results) == (3 if code is Exit.IDLE else 0)
    assert away <= clock.now <= max(away + 15, 300) if code is Exit.IDLE else clock.now <= 300


@pytest.mark.parametrize(("idle_seconds", "code"), [(None, Exit.TERMINATED), (5000.0, Exit.UNREACHABLE)])
def test_a_worker_of_a_pool_that_the_site_knows_waits_for_it_however_long(idle_seconds, code):
    clock = Clock()
    api = Away(LEASE, clock=clock, since=10, until=4000)

    def wait(seconds: float) -> None:
        clock.wait(seconds)
        if clock.now > 4100:
            raise Terminated

    client = ApiClient(url="http://site", token="operator", transport=api.transport, sleep=wait, clock=clock)
    worker = Worker(client=client, runner=FakeRunner(), name="w", idle_seconds=idle_seconds, sleep=wait)
    calls = []
    assert worker.run(on_session=lambda: calls.append(clock.now)) == code
    assert (calls, len(api.results)) == ([0.0], 3)
    assert (clock.now > 4000) is (idle_seconds is None)


FULL = httpx.Response(503, json={"status": 503, "code": "disk_full", "detail": "The site's disk is full."})
AWAY = httpx.Response(503, text="no server")


class FullApi(FakeApi):
    """Has no room for artefacts and results until it was asked so often."""

    def __init__(self, answer: httpx.Response, *, times: int) -> None:
        super().__init__(LEASE)
        self.answer, self.times = answer, times

    def _attempt(self, call: str, request: httpx.Request) -> httpx.Response:
        if call.startswith(("objects/", "results/", "finish/")) and self.times:
            self.times -= 1
            return self.answer
        return super()._attempt(call, request)


@pytest.mark.parametrize(("answer", "results"), [(FULL, ["0", "1", "2"]), (AWAY, [])])
def test_a_worker_keeps_its_results_while_a_disk_is_full_and_gives_up_a_site_that_is_away(answer, results):
    api, clock = FullApi(answer, times=50), Clock()
    client = ApiClient(
        url="http://site", token="operator", transport=api.transport, patience_seconds=20.0, sleep=clock.wait,
        clock=clock,
    )  # fmt: skip
    Worker(client=client, runner=FakeRunner(), name="w", idle_seconds=0.0).run()
    assert (list(api.results), len(api.objects)) == (results, len(results))


def idling_worker(api, *, turns, idle_seconds=None, then=lambda: None):
    """A worker for one evaluation, and the waits between its requests; after so many of them `then` is called."""
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        assert len(waits) < 100, "it would wait for ever"
        if len(waits) == turns:
            then()

    worker = make_worker(api, FakeRunner(), evaluation=uuid4(), idle_seconds=idle_seconds, sleep=sleep)
    return worker, waits


def test_a_worker_of_one_evaluation_waits_while_others_hold_its_last_shards_and_takes_over_what_they_drop():
    api = FakeApi(LEASE)
    api.work_left = True

    def a_sibling_crashes():
        api.leases.append({**LEASE, "attempt": "a2"})
        api.work_left = False

    worker, waits = idling_worker(api, turns=50, then=a_sibling_crashes)
    assert worker.run() == Exit.IDLE
    assert len(waits) == 50
    assert [call for call in api.calls if call.endswith("finish/")] == [
        "attempts/a1/finish/", "attempts/a2/finish/"
    ]  # fmt: skip


@pytest.mark.parametrize("left", [True, None])
def test_a_worker_of_one_evaluation_that_gives_up_waiting_does_not_say_that_the_work_is_done(left):
    api = FakeApi()
    api.work_left = left
    worker, _ = idling_worker(api, turns=0, idle_seconds=0.0)
    assert worker.run() == Exit.WORK_LEFT


def test_a_wrong_token_ends_the_worker_with_its_own_exit_code():
    api = FakeApi()
    api.failures.append(403)
    assert make_worker(api, FakeRunner()).run() == Exit.TOKEN_REFUSED


def test_a_cancelled_evaluation_stops_the_work_and_the_worker_goes_on_with_the_next():
    api = FakeApi({**LEASE, "tasks": [str(number) for number in range(50)]})
    api.over = "cancelled"
    runner = FakeRunner(pace=0.05)
    assert make_worker(api, runner).run() == 0
    assert len(runner.ran) < 50
    assert api.results == {}


def test_a_worker_that_fits_nothing_ends_so_that_a_fresh_one_can_take_over():
    api = FakeApi(*[LEASE] * 5)
    assert make_worker(api, FakeRunner(profile_digest="other")).run() == Exit.DOES_NOT_FIT
    assert len(api.leases) == 2


def test_refusals_with_work_between_them_do_not_end_a_worker():
    other = {**LEASE, "profile_digest": "other"}
    api = FakeApi(other, other, LEASE, other, other)
    assert make_worker(api, FakeRunner(profile_digest=LEASE["profile_digest"])).run() == 0


class PanicException(BaseException):
    """Of PyO3, whose own derives from BaseException too."""


@pytest.mark.parametrize("error", [RuntimeError("fell over"), PanicException("fell over")])
def test_an_error_gives_the_tasks_back_after_what_was_done_has_arrived_and_the_worker_goes_on(error):
    api = FakeApi(LEASE, {**LEASE, "tasks": ["0"]})
    assert make_worker(api, FakeRunner(fails_at="2", error=error)).run() == Exit.IDLE
    assert api.ended[0] == ("fail", {"how": "failed", "reason": f"{type(error).__name__}: fell over"})
    assert set(api.results) == {"0", "1"}
    assert api.ended[1][0] == "finish"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_to_end_the_process_ends_it(error):
    with pytest.raises(error):
        make_worker(FakeApi(LEASE), FakeRunner(fails_at="2", error=error())).run()


def test_a_record_leaves_the_worker_without_its_secrets():
    api, secret = FakeApi(LEASE), "secret-of-the-operator"
    tells = Acting(lambda lease, task: {"request": secret, "reason_text": secret})
    make_worker(api, tells, secrets=[secret]).run()
    assert len(api.results) == 3
    assert secret not in str(api.results)


def test_being_told_to_stop_sends_what_is_done_and_gives_the_rest_back():
    api = FakeApi(LEASE)

    assert make_worker(api, FakeRunner(fails_at="2", error=Terminated())).run() == 143
    assert set(api.results) == {"0", "1"}
    assert [(how, body["how"]) for how, body in api.ended] == [("fail", "released")]


RARE_HEARTBEATS = {**LEASE, "heartbeat_seconds": 60}


@pytest.fixture
def own_signals():
    kept = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("is_over", [True, False])
def test_a_worker_that_is_asked_leaves_an_attempt_that_is_over_in_the_middle_of_a_task_and_no_other(
    own_signals, is_over
):
    api = FakeApi(RARE_HEARTBEATS)

    def heartbeats():
        return sum("heartbeat" in path for path in api.calls)

    def ask(lease, task):
        """The launcher asks while task 1 is run, which takes as long as it takes until something comes of it."""
        if task == "1":
            api.over = "cancelled" if is_over else ""
            before, until = heartbeats(), time.monotonic() + 10
            os.kill(os.getpid(), signal.SIGUSR1)
            while is_over or heartbeats() == before:
                assert time.monotonic() < until, "nothing came of the signal"
                time.sleep(0.01)

    worker = make_worker(api, Acting(ask))
    worker.handle_signals()
    assert worker.run() == (143 if is_over else 0)
    assert is_over or set(api.results) == {"0", "1", "2"}
    os.kill(os.getpid(), signal.SIGUSR1)  # without an attempt it changes nothing


class Hangs(FakeRunner):
    """The first attempt comes to a phase and hangs there until the site has ended it, and for `seconds` after that."""

    def __init__(self, api, *, phase, seconds):
        super().__init__()
        self.api, self.hangs_in, self.seconds = api, phase, seconds
        self.swallowed = 0

    def _record(self, *, lease, task):
        if lease.attempt == "a1":
            self.phase.enter(self.hangs_in)
            self.api.over = "failed"
            try:
                time.sleep(self.seconds)
            except Exception:
                self.swallowed += 1
            finally:
                self.api.over = ""
        return super()._record(lease=lease, task=task)


@pytest.mark.parametrize("phase", [Phase.FETCHING, Phase.LOADING, Phase.PLANNING])
def test_a_worker_leaves_a_planner_that_hangs_as_soon_as_the_site_has_ended_the_attempt(own_signals, phase):
    api = FakeApi(LEASE, {**LEASE, "attempt": "a2"})
    worker = make_worker(api, runner := Hangs(api, phase=phase, seconds=60))
    worker.handle_signals()
    assert worker.run() == 0
    assert runner.swallowed == 0
    assert [how for how, _ in api.ended] == ["finish"], "the second attempt ran to its end"
    assert runner.ran == ["0", "0", "1", "2"]


def test_executing_plans_is_not_interrupted(own_signals):
    """Experts might be left half loaded; and it ends by itself."""
    api = FakeApi(LEASE, {**LEASE, "attempt": "a2"})
    worker = make_worker(api, runner := Hangs(api, phase=Phase.EXECUTING, seconds=0.5))
    worker.handle_signals()
    assert worker.run() == 0
    assert runner.ran == ["0", "0", "1", "2"]


def test_refused_results_are_a_failure_of_the_attempt():
    api = FakeApi(LEASE)
    # Of each record, of each alone, and of the fault in its place.
    make_worker(api, Acting(lambda lease, task: api.failures.extend([400] * 9))).run()
    assert api.results == {}
    assert all(how != "finish" for how, _ in api.ended)


@pytest.mark.parametrize("received", [{"steps": [{"weight": float("nan")}]}, "a half of a pair: \ud800"])
def test_a_record_that_cannot_be_sent_costs_its_own_task_only(received):
    api = FakeApi(LEASE)
    odd = Acting(lambda lease, task: {"plan_received": received} if task == "1" else None)
    assert make_worker(api, odd).run() == 0
    assert [how for how, _ in api.ended] == ["finish"]
    outcomes = {task: record["outcome"] for task, record in api.results.items()}
    assert outcomes == {"0": "scored", "1": "infra_fault", "2": "scored"}
    odd = api.results["1"]
    assert (odd["reason"], odd["score"], odd["plan_received"], odd["samples"]) == ("internal_error", None, None, [])
    assert odd["reason_text"].endswith(".")


class Picky(FakeApi):
    """A site that refuses what comes with a task that was scored and is called `1`."""

    def _take_in(self, records):
        if any(record["task"] == "1" and record["outcome"] == "scored" for record in records):
            return httpx.Response(400, json={"code": "invalid", "detail": "task 1: it has 9 samples"})
        return super()._take_in(records)


def test_a_record_that_the_site_refuses_costs_its_own_task_only(caplog):
    caplog.set_level("INFO")
    api = Picky(LEASE)
    assert make_worker(api, FakeRunner()).run() == Exit.IDLE
    assert [how for how, _ in api.ended] == ["finish"]
    outcomes = {task: (record["outcome"], record["reason"]) for task, record in sorted(api.results.items())}
    assert outcomes == {"0": ("scored", None), "1": ("infra_fault", "internal_error"), "2": ("scored", None)}
    assert "it has 9 samples" in caplog.text


def test_a_process_removes_what_an_earlier_one_in_the_pod_has_left(tmp_path, monkeypatch):
    for variable in (ALIVE, READY):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        touch(variable)
        assert (tmp_path / variable).exists()
    remove_probe_files()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.delenv(READY)
    touch(READY)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_is_known_once_the_site_has_answered_and_not_before():
    known = []
    api = FakeApi()
    api.failures.extend([httpx.ConnectError] * 3)
    assert make_worker(api, FakeRunner()).run(on_session=lambda: known.append(list(api.calls))) == Exit.IDLE
    assert len(known) == 1
    assert "lease/" in known[0][-1]
    away = FakeApi()
    away.failures.extend([httpx.ConnectError] * 1000)
    made = make_worker(away, FakeRunner(), patience=0.0)
    assert made.run(on_session=lambda: known.append([])) == Exit.UNREACHABLE
    assert len(known) == 1


@pytest.mark.full
def test_a_worker_that_cannot_begin_is_neither_alive_nor_ready(tmp_path):
    files = {ALIVE: tmp_path / "alive", READY: tmp_path / "ready"}
    for path in files.values():
        path.touch()
    (tmp_path / "token").write_text("a token")
    environment = {
        **os.environ, **{name: str(path) for name, path in files.items()}, "PLANARENA_DATA": str(tmp_path / "data"),
        "PLANARENA_MODEL_LIMIT": "a lot",
    }  # fmt: skip
    command = [sys.executable, "-m", "gpu_jobs", "worker", "--token-file", str(tmp_path / "token")]
    # A setting that cannot be used, as a broken image has.
    ended = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert ended.returncode != 0
    assert [path.name for path in files.values() if path.exists()] == []
