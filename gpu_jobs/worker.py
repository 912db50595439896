"""The worker: leases shards, runs their tasks, and sends the results. It may be killed at any instruction."""

import logging
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import FrameType
from uuid import UUID

from evaluator.core.records import ResultRecord
from gpu_jobs.agents import AgentAway
from gpu_jobs.client import (
    ApiClient,
    AttemptOverError,
    EnrolmentExpiredError,
    LeaseAnswer,
    ObjectsMissingError,
    RefusedError,
    UnreachableError,
)
from gpu_jobs.contract import (
    LONGEST_WAIT_SECONDS,
    FinishRequest,
    GivenUp,
    Lease,
    LeaseRequest,
    Phase,
    RunLease,
)
from gpu_jobs.delivery import Delivery, DirectUploads, Known
from gpu_jobs.exits import Exit
from gpu_jobs.heartbeats import Heartbeats
from gpu_jobs.logs.lines import process_named
from gpu_jobs.logs.sending import AttemptLog
from gpu_jobs.metrics import WorkerMetrics
from gpu_jobs.planners import HeldLease, LeaseRefusedError, LeaseReturnedError, with_secrets
from gpu_jobs.runner import ShardRunner
from gpu_jobs.tracing.spans import failed, ids_for_logs, span

logger = logging.getLogger(__name__)

_LAST_WORDS_SECONDS = 10.0
_REFUSALS_ALLOWED = 3
"""Refused leases in a row after which the worker exits: it is probably older than the site."""
_LONGEST_POLL_SECONDS = 2.0
_IDLE_AFTER_SECONDS = 60.0
_INTERRUPTIBLE = frozenset({Phase.FETCHING, Phase.LOADING, Phase.PLANNING})
"""Phases in which the worker waits for the planner."""
_STOPPED = "the worker was stopped"


class Terminated(BaseException):
    """The process was asked to stop. Like KeyboardInterrupt not caught by `except Exception`."""


class _TerminatedAtTheEnd(Terminated):
    """`Terminated` after the end of the attempt was sent: there is nothing to return."""


class _Interrupted(BaseException):
    """The attempt has ended while the worker waits for its planner. Not caught by `except Exception`."""


_ENDS_THE_PROCESS = (Terminated, KeyboardInterrupt, SystemExit, GeneratorExit)
"""Any other `BaseException` is a failure of third-party code: native libraries raise panics as such."""


def stop_on_sigterm() -> None:
    """Raise `Terminated` on SIGTERM and SIGINT; later ones are ignored."""

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal's signature
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, signal.SIG_IGN)
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def _interrupt_main_thread() -> None:
    ident = threading.main_thread().ident
    assert ident is not None, "the main thread runs"
    signal.pthread_kill(ident, signal.SIGUSR2)


class Worker:
    """Processes leases, one after the other, with the same loaded experts."""

    def __init__(
        self,
        *,
        client: ApiClient,
        runner: ShardRunner,
        name: str,
        suites: Sequence[str] | None = None,
        evaluation: UUID | None = None,
        idle_seconds: float | None = None,
        secrets: Sequence[str] = (),
        only_runs: bool = False,
        poll_seconds: float = 0.5,
        metrics: WorkerMetrics | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Args:
        client: the API.
        runner: runs tasks.
        name: the worker's name, by which its launcher knows it.
        suites: lease only tasks of these suites.
        evaluation: lease only tasks of this evaluation.
        idle_seconds: exit after this time without work; None: never. A worker for one evaluation also exits when the
            site reports that the evaluation has no unfinished shards.
        secrets: texts to redact in logs that are sent.
        only_runs: lease no shards. The worker loads the experts of runs before the first one, and waits for each at the
            site, which answers as soon as one is asked.
        poll_seconds: pause after the first response without work; later pauses are longer.
        metrics: counts leases, tasks and steps; None: nobody reads them.
        sleep: for tests.
        """
        self._client = client
        self._metrics = metrics or WorkerMetrics()
        self._runner = runner
        self._name = name
        self._suites = suites
        self._evaluation = evaluation
        self._idle = idle_seconds
        self._secrets = tuple(secrets)
        self._only_runs = only_runs
        self._poll = poll_seconds
        self._sleep = sleep
        self._known = Known()
        self._uploads = DirectUploads()
        self._request: LeaseRequest | None = None
        """The last lease request, until its response has arrived."""
        self._refusals = 0
        """Leases refused in a row."""
        self._heartbeats: Heartbeats | None = None
        """Of the current attempt."""
        self._may_interrupt = False
        """Whether tasks of the current attempt run."""
        self._handles_signals = False
        self._ready_for: tuple[str, str] | None = None
        """Suite and profile whose experts were loaded before the first run."""

    def handle_signals(self) -> None:
        """Install the handlers of SIGUSR1 and SIGUSR2.

        SIGUSR1 checks with the site whether the current attempt has ended, and exits if it has. Launchers send it to
        stop the workers of a cancelled evaluation: only the worker knows which attempt it has when the signal arrives.

        SIGUSR2, which the heartbeats send, interrupts the planner of an attempt that has ended.
        """
        signal.signal(signal.SIGUSR1, self._look)
        signal.signal(signal.SIGUSR2, self._leave_attempt)
        self._handles_signals = True

    def _leave_attempt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signal's signature
        # Not while experts run: they would be left half loaded, and their calls end by themselves.
        if self._may_interrupt and self._runner.phase.now in _INTERRUPTIBLE:
            self._may_interrupt = False
            raise _Interrupted

    def _look(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signal's signature
        if self._heartbeats is None:
            return
        if self._heartbeats.over is None:
            self._heartbeats.ask_now()
            return
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        raise Terminated

    def run(self, *, on_session: Callable[[], None] = lambda: None) -> int:
        """Work until no work is left, or there was none for `idle_seconds`, and return the exit code.

        Args:
            on_session: called after the site's first response to a lease request.
        """
        try:
            return self._work_until_idle(on_session)
        except Terminated:
            logger.info("asked to stop")
            self._return_request()
            return Exit.TERMINATED
        except UnreachableError as error:
            logger.error("%s", error)
            return Exit.UNREACHABLE
        except EnrolmentExpiredError as error:
            logger.info("%s", error)
            return Exit.ENROLMENT_EXPIRED
        except RefusedError as error:
            logger.error("%s", error)
            return Exit.TOKEN_REFUSED

    def _work_until_idle(self, on_session: Callable[[], None]) -> int:
        last_work = time.monotonic()
        wait = self._poll
        lease: Lease | None = None
        is_known = runs_wait = False
        while True:
            if lease is None:
                try:
                    answer = self._announced() if self._only_runs else self._client.lease(self._lease_request())
                except UnreachableError as error:
                    if not is_known or self._idle is not None or self._evaluation is not None:
                        raise
                    # A pool's worker goes on: a restart would only load the experts again.
                    logger.warning("%s; waiting for the site", error)
                    continue
                if not is_known:
                    is_known = True
                    on_session()
                self._request, lease, runs_wait = None, answer.lease, answer.runs_wait
                if lease is None and answer.work_left is False:
                    logger.info("no shard of evaluation %s is left", self._evaluation)
                    return Exit.IDLE
                if lease is None and runs_wait and self._work_on_a_run():
                    last_work, wait = time.monotonic(), self._poll
                    continue
            if lease is not None:
                lease = self._work_on(lease)
                if self._refusals >= _REFUSALS_ALLOWED:
                    logger.error("refused %d leases in a row: this worker does not fit the site", self._refusals)
                    return Exit.DOES_NOT_FIT
                last_work, wait = time.monotonic(), self._poll
            elif self._idle is not None and time.monotonic() - last_work >= self._idle:
                logger.info("nothing to do for %g seconds", self._idle)
                # 0 would mean that the evaluation's work is done, which only the site knows.
                return Exit.IDLE if self._evaluation is None else Exit.WORK_LEFT
            else:
                if time.monotonic() - last_work >= _IDLE_AFTER_SECONDS:
                    self._runner.idle()
                if self._only_runs and not runs_wait:
                    # The site has already waited.
                    continue
                self._sleep(wait)
                wait = min(wait * 1.5, max(self._poll, _LONGEST_POLL_SECONDS))

    def _announced(self) -> LeaseAnswer:
        """Wait for a run, with the experts that it probably needs loaded."""
        found = self._client.wait_for_run(seconds=0 if self._ready_for is None else LONGEST_WAIT_SECONDS)
        wanted = found.suite, found.profile
        # A run that waits already needs some of them only.
        if self._ready_for != wanted and not found.waits:
            self._ready_for = wanted
            if found.suite:
                self._runner.get_ready(suite=found.suite, profile=found.profile)
        return LeaseAnswer(lease=None, runs_wait=found.waits)

    def _lease_request(self) -> LeaseRequest:
        """The next lease request. One whose response was lost is repeated, since it may have been granted."""
        if self._request is None:
            suites = tuple(self._suites) if self._suites else None
            token = secrets.token_urlsafe(32)
            self._request = LeaseRequest(
                worker=self._name,
                suites=suites,
                evaluation=self._evaluation,
                token=token,
                knows_roles=True,
                knows_endpoint_roles=True,
                knows_runs=True,
                knows_records=True,
                knows_recorded_turns=True,
            )
        return self._request

    def _return_request(self) -> None:
        """Return the lease of a request that was interrupted, if it was granted."""
        if self._request is None:
            return
        try:
            lease = self._client.lease(self._request, patience=_LAST_WORDS_SECONDS).lease
            if lease is not None:
                self._client.fail(lease=lease, how=GivenUp.RELEASED, reason=_STOPPED, patience=_LAST_WORDS_SECONDS)
        except (AttemptOverError, EnrolmentExpiredError, UnreachableError, RefusedError) as error:
            logger.warning("a lease may not have been returned: %s", error)

    def _work_on_a_run(self) -> bool:
        """Process a run of the workbench, if one still waits. Errors end the run, not the worker."""
        lease = self._client.lease_run(self._lease_request())
        self._request = None
        if lease is None:
            return False
        # Imported here: most workers of a cluster never get a run.
        from gpu_jobs.runs import work_on_run

        logger.info("run %s: started", lease.run)
        self._runner.phase.begin()
        try:
            work_on_run(lease, client=self._client, runner=self._runner)
            logger.info("run %s: ended", lease.run)
        except Terminated:
            self._return_run(lease, how=GivenUp.RELEASED, reason=_STOPPED, patience=_LAST_WORDS_SECONDS)
            raise
        except AttemptOverError as error:
            logger.info("run %s: %s", lease.run, error)
        except UnreachableError as error:
            logger.error("run %s is left to time out: %s", lease.run, error)
        except LeaseRefusedError as error:
            self._return_run(lease, how=GivenUp.REFUSED, reason=str(error))
        except BaseException as error:  # third-party code failed; the next run may succeed
            if isinstance(error, _ENDS_THE_PROCESS):
                raise
            logger.exception("run %s: failed", lease.run)
            self._return_run(lease, how=GivenUp.FAILED, reason=f"{type(error).__name__}: {error}")
        finally:
            self._runner.phase.end()
        return True

    def _return_run(self, lease: RunLease, *, how: GivenUp, reason: str, patience: float | None = None) -> None:
        try:
            self._client.return_run(lease=lease, how=how, reason=reason, patience=patience)
        except (AttemptOverError, UnreachableError, RefusedError) as error:
            logger.warning("run %s could not be returned: %s", lease.run, error)

    def _work_on(self, lease: Lease) -> Lease | None:
        """Process one lease, and return the next one if the site granted it. Errors end the lease, not the worker."""
        ids = {"worker": self._name, "evaluation": lease.evaluation, "attempt": lease.attempt}
        attributes: dict[str, str | int] = {**ids, "suite": lease.suite, "tasks": len(lease.tasks)}
        with (
            span("attempt", kind="consumer", parent=lease.traceparent, attributes=attributes),
            process_named(**ids, **ids_for_logs()),
        ):
            held = self._with_secrets(lease)
            return None if held is None else self._run_and_report(held)

    def _with_secrets(self, lease: Lease) -> HeldLease | None:
        """The lease with its secrets; None if the site refuses them, which ends the lease."""
        try:
            return with_secrets(lease, client=self._client)
        except (AttemptOverError, UnreachableError) as error:
            logger.warning("attempt %s: its secrets could not be fetched: %s", lease.attempt, error)
        except RefusedError as error:
            logger.error("attempt %s: the site refuses its secrets: %s", lease.attempt, error)
            self._fail(lease=lease, how=GivenUp.FAILED, reason=f"the site refused the attempt's secrets: {error}")
        except Terminated:
            self._fail(lease=lease, how=GivenUp.RELEASED, reason=_STOPPED, patience=_LAST_WORDS_SECONDS)
            raise
        return None

    def _run_and_report(self, lease: HeldLease) -> Lease | None:
        with AttemptLog(client=self._client, lease=lease, secrets=[*self._secrets, *self._client.secrets()]) as log:
            logger.info("attempt %s: %d tasks of evaluation %s", lease.attempt, len(lease.tasks), lease.evaluation)
            refusals, self._refusals = self._refusals, 0
            try:
                following = self._run(lease=lease, log=log)
                logger.info("attempt %s: completed", lease.attempt)
                return following
            except AttemptOverError as error:
                self._metrics.lease_ended("over")
                logger.warning("attempt %s: %s", lease.attempt, error)
            except (AgentAway, LeaseReturnedError) as error:
                logger.info("attempt %s: returned: %s", lease.attempt, error)
                self._give_back(lease=lease, log=log, how=GivenUp.RELEASED, reason=str(error))
            except _Interrupted:
                self._metrics.lease_ended("over")
                logger.warning("attempt %s: has ended, and its planner was interrupted", lease.attempt)
            except UnreachableError as error:
                logger.error("attempt %s is left to time out: %s", lease.attempt, error)
            except LeaseRefusedError as error:
                logger.error("attempt %s: refused: %s", lease.attempt, error)
                self._refusals = refusals + 1
                self._give_back(lease=lease, log=log, how=GivenUp.REFUSED, reason=str(error))
            except BaseException as error:  # third-party code failed; the next lease may succeed
                if isinstance(error, _ENDS_THE_PROCESS):
                    raise
                logger.exception("attempt %s: failed", lease.attempt)
                self._give_back(lease=lease, log=log, how=GivenUp.FAILED, reason=f"{type(error).__name__}: {error}")
        return None

    def _run(self, *, lease: HeldLease, log: AttemptLog) -> Lease | None:
        self._runner.phase.begin()
        interrupt = _interrupt_main_thread if self._handles_signals else None
        with (
            Heartbeats(
                beat=lambda: self._client.heartbeat(lease, phase=self._runner.phase.now),
                seconds=lease.heartbeat_seconds,
                name=f"attempt {lease.attempt}",
                interrupt=interrupt,
            ) as heartbeats,
            Delivery(
                client=self._client,
                lease=lease,
                store=self._runner.store,
                known=self._known,
                redact=log.redact,
                uploads=self._uploads,
            ) as delivery,  # fmt: skip
        ):
            self._heartbeats = heartbeats
            try:
                for record in self._interruptible(self._runner.run(lease)):
                    delivery.add(log.redact.in_record(record))
                    self._metrics.count(record)
                    logger.info("task %s: %s", record.task, _summary(record))
                    heartbeats.check()
                self._runner.phase.end()
                return self._finish(lease=lease, delivery=delivery, log=log)
            except _TerminatedAtTheEnd:
                raise
            except Terminated:
                self._release(lease=lease, delivery=delivery, log=log)
                raise
            except _Interrupted:
                raise
            except BaseException as error:
                if isinstance(error, _ENDS_THE_PROCESS):
                    raise
                # Finished results must arrive before the attempt is returned.
                with suppress(Exception):
                    delivery.finish(timeout=_LAST_WORDS_SECONDS)
                raise
            finally:
                self._heartbeats = None
                self._runner.phase.end()

    def _interruptible(self, records: Iterator[ResultRecord]) -> Iterator[ResultRecord]:
        """The records; SIGUSR2 may interrupt the wait for each."""
        while True:
            self._may_interrupt = True
            try:
                record = next(records, None)
            finally:
                self._may_interrupt = False
            if record is None:
                return
            yield record

    def _finish(self, *, lease: Lease, delivery: Delivery, log: AttemptLog) -> Lease | None:
        """Complete the attempt, and return the next lease if the same call grants one."""
        last = FinishRequest(
            results=tuple(delivery.rest()),
            log=log.rest(),
            provenance=self._runner.provenance(),
            next=self._lease_request(),
        )
        try:
            with span("finish"):
                return self._finish_in_one_call(lease=lease, last=last, delivery=delivery)
        except RefusedError as error:
            # Results that are refused together may be accepted individually.
            with suppress(AttemptOverError, UnreachableError, RefusedError):
                self._client.log(lease=lease, log=last.log, patience=_LAST_WORDS_SECONDS)
            delivery.send_each(last.results)
            if not error.is_about_content:
                raise
            rest = last.model_copy(update={"results": (), "log": last.log.after()})
            return self._finish_in_one_call(lease=lease, last=rest, delivery=delivery)
        except Terminated as stopped:
            # The call may have arrived; repeating it changes nothing.
            with suppress(AttemptOverError, UnreachableError, RefusedError):
                without_next = last.model_copy(update={"next": None})
                self._client.finish(lease=lease, request=without_next, patience=_LAST_WORDS_SECONDS)
                raise _TerminatedAtTheEnd from stopped
            raise

    def _finish_in_one_call(self, *, lease: Lease, last: FinishRequest, delivery: Delivery) -> Lease | None:
        try:
            following = self._client.finish(lease=lease, request=last)
        except ObjectsMissingError as error:
            delivery.send_missing(error.digests)
            following = self._client.finish(lease=lease, request=last)
        self._request = None
        self._metrics.lease_ended("completed")
        return following

    def _release(self, *, lease: Lease, delivery: Delivery, log: AttemptLog) -> None:
        """Send finished results and return the rest, so that another worker continues at once."""
        try:
            delivery.finish(timeout=_LAST_WORDS_SECONDS)
            logger.info("attempt %s: %s", lease.attempt, _STOPPED)
            log.finish()
            self._client.fail(lease=lease, how=GivenUp.RELEASED, reason=_STOPPED, patience=_LAST_WORDS_SECONDS)
            self._metrics.lease_ended(GivenUp.RELEASED.value)
        except (AttemptOverError, UnreachableError, RefusedError, TimeoutError) as error:
            logger.warning("attempt %s: could not be released: %s", lease.attempt, error)

    def _give_back(self, *, lease: Lease, log: AttemptLog, how: GivenUp, reason: str) -> None:
        log.finish()
        self._fail(lease=lease, how=how, reason=log.redact(reason))

    def _fail(self, *, lease: Lease, how: GivenUp, reason: str, patience: float | None = None) -> None:
        if how is not GivenUp.RELEASED:
            failed(how.value)
        self._metrics.lease_ended(how.value)
        try:
            self._client.fail(lease=lease, how=how, reason=reason, patience=patience)
        except (AttemptOverError, UnreachableError, RefusedError) as error:
            logger.warning("attempt %s could not be returned: %s", lease.attempt, error)


def _summary(record: ResultRecord) -> str:
    if record.reason is not None:
        return f"{record.outcome} ({record.reason}): {record.reason_text}"
    return str(record.outcome) if record.score is None else f"{record.outcome} {record.score:.4f}"
