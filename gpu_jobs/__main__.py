"""`python -m gpu_jobs worker`: run a worker, on any machine that reaches the API."""

import os
import sys
from pathlib import Path

from gpu_jobs.probes import ALIVE, READY, remove_probe_files, touch
from gpu_jobs.worker_secrets import (
    OPTION,
    TOKEN,
    TOKEN_FILE,
    SecretsError,
    WorkerSecrets,
    received,
    restart_without_secrets,
    secrets_in,
)

if __name__ == "__main__":
    # First: a restart would repeat all earlier imports.
    remove_probe_files()
    restart_without_secrets(sys.orig_argv)

import argparse
import logging
import secrets
import socket
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from uuid import UUID

from evaluator.core.private_files import keep_private
from evaluator.core.process import settle_process
from evaluator.execution.engine.opening import open_store, parse_size
from evaluator.network.egress_policy import EgressPolicyError, egress_policy
from evaluator.sandbox.programs.support import support
from evaluator.sandbox.programs.worker import WorkerError
from evaluator.scoring.arbiters.base import KEY_VARIABLE, ArbiterError, arbiter_from
from evaluator.scoring.rating import KEY_VARIABLE as RATER_KEY
from evaluator.scoring.rating import RaterError, configured_rater
from gpu_jobs.agents import AgentTurns
from gpu_jobs.checkpoints import CheckpointCache
from gpu_jobs.client import ApiClient
from gpu_jobs.doctor_reports import deliver_doctor_report
from gpu_jobs.enrolment_tokens import TokenFile
from gpu_jobs.exits import Exit
from gpu_jobs.gpu_memory import gpu_memory_bytes
from gpu_jobs.hub_cache import HubCache
from gpu_jobs.launchers.base import handle_of
from gpu_jobs.logs.lines import FORMAT_VARIABLE, FORMATS, formatter, process_named
from gpu_jobs.metrics import MeasuredPhase, MetricsPortError, WorkerMetrics, metrics_port, serve_from
from gpu_jobs.model_server import VARIABLE
from gpu_jobs.model_server.isolation.sandbox import detected
from gpu_jobs.per_gpu import GpuProcesses, visible_gpus
from gpu_jobs.redaction import Redactor
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.tracing.options import name_service
from gpu_jobs.worker import Worker, stop_on_sigterm


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m gpu_jobs", description="Workers of PlanArena.")
    command = top.add_subparsers(dest="command", required=True).add_parser("worker", help="lease tasks and run them")
    add = command.add_argument
    data = os.environ.get("PLANARENA_DATA") or ".data"
    add("--url", default=os.environ.get("PLANARENA_API_URL", "http://127.0.0.1:8000"), help="where the site is")
    add("--token-env", default=TOKEN, help="environment variable with the enrolment token (default: %(default)s)")
    add("--token", help="the enrolment token; other users of this machine can read it here, so prefer the variable")
    add("--token-file", type=Path, default=os.environ.get(TOKEN_FILE) or None,
        help="file with the enrolment token; the worker waits for it and reads it again when needed")  # fmt: skip
    add(OPTION, type=int, help=argparse.SUPPRESS)
    add("--name", default=f"{socket.gethostname()}-{secrets.token_hex(4)}", help="name of the worker")
    add("--store", default=str(Path(data) / "worker-store"), help="folder or s3://bucket/prefix for executed steps")
    add("--store-limit", type=parse_size, default=_size("PLANARENA_STORE_LIMIT"), help="size of the folder, as in 20GB")
    add("--device", default=os.environ.get("PLANARENA_DEVICE", "cpu"),
        help="torch device; with cuda one process for each visible GPU (default: %(default)s)")  # fmt: skip
    add("--memory-budget", type=parse_size, default=_size("PLANARENA_MEMORY_BUDGET"),
        help="memory for loaded experts, as in 6GB (default: 70%% of a CUDA card's free memory)")  # fmt: skip
    add("--model-limit", type=parse_size, default=_size("PLANARENA_MODEL_LIMIT") or parse_size("100GB"),
        help="size of the folder with models from a hub (default: 100GB)")  # fmt: skip
    add("--suite", action="append", dest="suites", help="lease only tasks of this suite; may be repeated")
    add("--evaluation", type=UUID, help="lease only tasks of this evaluation")
    add("--only-runs", action="store_true",
        help="take only requests of the workbench, each as soon as it is asked")  # fmt: skip
    add("--idle-seconds", type=float, help="exit after this time without work (default: never)")
    add("--doctor-report", type=Path, metavar="FILE",
        help="deliver this report of `planarena doctor --output FILE` and exit")  # fmt: skip
    return top


def _size(variable: str) -> int | None:
    text = os.environ.get(variable)
    return parse_size(text) if text else None


def _secrets(options: argparse.Namespace) -> WorkerSecrets:
    """Secrets from the launcher's pipe, else from the command line and the environment.

    Raises:
        SecretsError: there is no such pipe.
    """
    if options.secrets_fd is not None:
        piped = received(options.secrets_fd)
        # boto3 and httpx read them here; /proc shows the initial environment only.
        os.environ.update(piped.variables)
        return piped
    secrets = secrets_in(os.environ, token_variable=options.token_env)
    return replace(secrets, token=options.token.strip()) if options.token else secrets


_CONSOLE = logging.StreamHandler()


class LogFormatError(ValueError):
    """PLANARENA_LOG_FORMAT has an unknown value."""


def configure_logging(secrets: Sequence[str] = ()) -> None:
    """Log to standard error in the format of PLANARENA_LOG_FORMAT, without these secrets.

    Raises:
        LogFormatError: there is no such format.
    """
    form = os.environ.get(FORMAT_VARIABLE, "").strip().lower() or FORMATS[0]
    if form not in FORMATS:
        raise LogFormatError(f"{FORMAT_VARIABLE} is {form!r}: it must be {' or '.join(FORMATS)}")
    _CONSOLE.setFormatter(formatter(form, redact=Redactor(secrets=secrets)))
    logging.basicConfig(level=logging.INFO, handlers=[_CONSOLE])
    for name in ("botocore", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)


def report_sandbox() -> None:
    """Log how this machine confines submitted models."""
    log = logging.getLogger("gpu_jobs")
    if address := os.environ.get(VARIABLE):
        log.info("Submitted models are loaded by the model server at %s.", address)
        return
    detection = detected()
    log.log(logging.WARNING if detection.problem else logging.INFO, "%s", detection.line())


def report_programs() -> None:
    """Log how this machine confines planners' programs."""
    log = logging.getLogger("gpu_jobs")
    try:
        programs = support()
    except WorkerError as error:
        log.warning("Programs cannot run here: %s", error)
    else:
        log.log(logging.WARNING if programs.problem else logging.INFO, "%s", programs.line())


def report_confinement() -> None:
    """Log how submitted models and programs are confined. Takes about a second, in a thread."""
    report_programs()
    report_sandbox()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code (`gpu_jobs.exits`)."""
    options = parser().parse_args(arguments)
    stop_on_sigterm()
    try:
        configure_logging()
        secrets = _secrets(options)
        configure_logging(secrets=secrets.values())
        egress_policy()
        arbiter = arbiter_from(os.environ)
        configured_rater()
        metrics_port(os.environ)
    except (LogFormatError, SecretsError, EgressPolicyError, ArbiterError, RaterError, MetricsPortError) as error:
        sys.stderr.write(f"{error}.\n")
        return Exit.MISCONFIGURED
    if not secrets.token and options.token_file is None:
        sys.stderr.write(f"{options.token_env} is not set: it must hold an enrolment token of {options.url}.\n")
        return Exit.MISCONFIGURED
    gpus = visible_gpus(os.environ) if options.device == "cuda" else ()
    if len(gpus) > 1:
        command = [sys.executable, *sys.orig_argv[1:]]
        return GpuProcesses(
            gpus=gpus, name=options.name, command=command, environment=os.environ, secrets=secrets
        ).run()  # fmt: skip
    data = Path(os.environ.get("PLANARENA_DATA") or ".data")
    keep_private(data)
    try:
        store = open_store(where=options.store, data=data, max_bytes=options.store_limit)
    except ValueError as error:
        sys.stderr.write(f"--store: {error}.\n")
        return Exit.MISCONFIGURED
    token = secrets.token or TokenFile(options.token_file)
    client = ApiClient(
        url=options.url, token=token, suites=options.suites, evaluation=options.evaluation,
        gpu_memory_bytes=gpu_memory_bytes(device=options.device, environment=os.environ),
    )  # fmt: skip
    if options.doctor_report is not None:
        return deliver_doctor_report(options.doctor_report, client=client, worker=options.name)
    threading.Thread(target=report_confinement, name="confinement", daemon=True).start()
    checkpoints = CheckpointCache(client=client, folder=data / "worker-checkpoints")
    metrics = WorkerMetrics()
    serve_from(metrics)
    runner = EvaluatorRunner(
        store=store, device=options.device, memory_budget=options.memory_budget, checkpoints=checkpoints,
        hub_cache=HubCache(folder=data / "worker-models", most_bytes=options.model_limit),
        arbiter=arbiter, arbiter_key=secrets.variables.get(KEY_VARIABLE, ""),
        rater_key=secrets.variables.get(RATER_KEY, ""),
        agents=lambda lease: AgentTurns(client=client, lease=lease), phase=MeasuredPhase(metrics),
    )  # fmt: skip
    worker = Worker(
        client=client, runner=runner, name=options.name, suites=options.suites, evaluation=options.evaluation,
        idle_seconds=options.idle_seconds, only_runs=options.only_runs, secrets=secrets.values(), metrics=metrics,
    )  # fmt: skip
    # Lines of several processes share one stream.
    ids = {} if options.name == handle_of(options.name) else {"worker": options.name}
    with closing(checkpoints), process_named(**ids):
        return run(worker)


def run(worker: Worker) -> int:
    """Run the worker, and return its exit code."""
    name_service("planarena-worker")
    worker.handle_signals()
    touch(ALIVE)
    return worker.run(on_session=partial(touch, READY))


if __name__ == "__main__":
    settle_process(os.environ)
    sys.exit(main())
