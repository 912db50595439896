"""An installation of the chart on this machine: two web pods behind a Service, queue, beat and two workers, with
PostgreSQL, Redis and a bucket.

Commands, variables and probes are those of the manifests. Replaced are addresses, ports and folders, and the launcher,
since pods are not made by a cluster here.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from leaderboard.platform import embedded
from tests.fakes.s3 import FakeS3, Fault
from tests.fakes.s3.signatures import KEY, REGION, SECRET
from tests.fakes.serving import accepting, carry
from tests.k8s.chart import BUCKET, CPU, PRODUCTION, environment_of, merged, named, pod_of, render
from tests.outages.kubelet import Container
from tests.processes import clean_environment, free_port
from tests.redis_server import redis_server

_LACKING = {
    "PLANARENA_HTTPS": "0", "PLANARENA_EMAIL_VERIFICATION": "none", "PLANARENA_QUOTA_PER_DAY": "0",
    "PLANARENA_QUOTA_PER_SUITE_AND_DAY": "0",
}  # fmt: skip
"""What this machine lacks, such as HTTPS and a mail server, and what limits one person's submissions."""
SUITE, PLANNER = "toolmini", "gold"
VALUES = merged(PRODUCTION, BUCKET, {"pools": [CPU | {"scaling": "none", "replicas": 2}]})


class Service:
    """Hands connections to the ready web pods in turn, as the cluster does."""

    def __init__(self) -> None:
        self.pods: list[Container] = []
        self._turn = 0

    def serve(self, client: socket.socket) -> None:
        ready = [pod for pod in self.pods if pod.is_ready]
        if not ready:
            return
        self._turn += 1
        with suppress(OSError), socket.create_connection(("127.0.0.1", ready[self._turn % len(ready)].port)) as server:
            back = threading.Thread(target=carry, args=(server, client), daemon=True)
            back.start()
            carry(client, server)
            back.join(timeout=10)


class Installation:
    """A running one."""

    def __init__(self, folder: Path, *, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self._redis_port = free_port()
        self._redis = ExitStack()
        self.bucket = stack.enter_context(FakeS3().serving())
        self.service = Service()
        self.url = f"http://127.0.0.1:{stack.enter_context(accepting(self.service.serve))}"
        self._manifests = render(VALUES)
        self.token = secrets.token_urlsafe(40)
        self._secrets = {
            "planarena-secrets": {
                "DATABASE_URL": embedded.start(folder), "BROKER_URL": f"redis://127.0.0.1:{self._redis_port}/0",
                "PLANARENA_WEBHOOK_KEY": secrets.token_urlsafe(40),
            },
            "planarena-web-secrets": {
                "PLANARENA_SECRET_KEY": secrets.token_urlsafe(40), "PLANARENA_SECRETS_KEY": secrets.token_urlsafe(40),
                "PLANARENA_WORKER_TOKEN": self.token,
            },
            "site-bucket": {
                "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": REGION,
            },
        }  # fmt: skip
        self._replaced = {
            "PLANARENA_SITE_URL": self.url, "PLANARENA_API_URL": self.url, "PLANARENA_ALLOWED_HOSTS": "127.0.0.1",
            "PLANARENA_S3_ENDPOINT": self.bucket.url, "PLANARENA_S3_PUBLIC_ENDPOINT": self.bucket.url,
            "PLANARENA_LAUNCHER": "leaderboard.queue.launching.no_launcher", "PLANARENA_TRUST_PROXY": "0",
            "PLANARENA_EGRESS_PROXY": "", "PLANARENA_PROGRAMS": "",
        }  # fmt: skip
        self.pods: dict[str, Container] = {}

    def start(self) -> None:
        """Migrate as the chart's Job does, then start all pods."""
        self._redis.enter_context(redis_server(self._redis_port))
        self._stack.callback(self._redis.close)
        migrate = named_job(self._manifests, "planarena-migrate-")
        command = pod_of(migrate)["containers"][0]["command"]
        self._run(command, environment=self._environment(pod_of(migrate)["containers"][0], name="migrate"))
        web = pod_of(named(self._manifests, "Deployment", "planarena-web"))
        static = next(one for one in web["initContainers"] if one["name"] == "static")
        for number in range(2):
            self._run(static["command"], environment=self._environment(static, name=f"web-{number}"))
            self._start("planarena-web", name=f"web-{number}", port=free_port())
        self.service.pods = [self.pods["web-0"], self.pods["web-1"]]
        self._start("planarena-queue", name="queue")
        self._start("planarena-beat", name="beat")
        (self.folder / "enrolment").write_text(self.token)
        for number in range(2):
            self._start("planarena-pool-cpu", name=f"worker-{number}")

    def person(self, name: str, *, password: str) -> None:
        """Make an account, as an operator does in a pod."""
        (web,) = pod_of(named(self._manifests, "Deployment", "planarena-web"))["containers"]
        made = f"User.objects.create_user({name!r}, password={password!r}, email='{name}@example.org')"
        program = f"from leaderboard.people.models import User; {made}"
        self._run(["python", "manage.py", "shell", "-c", program], environment=self._environment(web, name="web-0"))

    def stop(self) -> None:
        """End all pods, workers first."""
        for pod in reversed(list(self.pods.values())):
            pod.stop()

    def _start(self, deployment: str, *, name: str, port: int = 0) -> None:
        (spec,) = pod_of(named(self._manifests, "Deployment", deployment))["containers"]
        command = [self._here(part, name=name, port=port) for part in spec["command"]]
        if command[0] in {"python", "celery", "uvicorn"}:
            modules = ["-m", command[0]] if command[0] != "python" else []
            command = [sys.executable, *modules, *command[1:]]
        self.pods[name] = Container(
            spec, name=name, command=command, environment=self._environment(spec, name=name),
            folder=self.folder / name / "tmp", port=port,
        )  # fmt: skip

    def _here(self, part: str, *, name: str, port: int) -> str:
        changes = {
            "--host=0.0.0.0": "--host=127.0.0.1", "--port=8000": f"--port={port}", "$(POD_NAME)": name,
            "/run/planarena/enrolment/token": str(self.folder / "enrolment"),
        }  # fmt: skip
        return changes.get(part, part)

    def _environment(self, spec: Mapping[str, Any], *, name: str) -> dict[str, str]:
        """The variables of a container: of the ConfigMap if it reads that, its own, and what replaces them here."""
        found: dict[str, str] = {}
        for source in spec.get("envFrom", []):
            if "configMapRef" in source:
                found |= named(self._manifests, "ConfigMap", source["configMapRef"]["name"])["data"] | _LACKING
            else:
                found |= self._secrets.get(source["secretRef"]["name"], {})
        found |= environment_of(spec)
        found = {key: self._replaced.get(key, value) for key, value in found.items()}
        data = self.folder / name
        (data / "tmp").mkdir(parents=True, exist_ok=True)
        found = {
            key: str(data / "tmp" / value.removeprefix("/tmp/")) if value.startswith("/tmp/") else value
            for key, value in found.items()
            if value
        }
        found |= {"PLANARENA_DATA": str(data), "HOME": str(data), "PYTHONUNBUFFERED": "1"}
        if "PLANARENA_UPLOADS" in found:
            found["PLANARENA_UPLOADS"] = str(data / "uploads")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return clean_environment(**found, PATH=path)

    def _run(self, command: list[str], *, environment: Mapping[str, str]) -> None:
        done = subprocess.run(command, env=dict(environment), capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"

    # What goes away, and comes back.

    @contextmanager
    def without(self, what: str) -> Iterator[None]:
        """Without one of `OUTAGES` within the context."""
        away, back = OUTAGES[what]
        away(self)
        try:
            yield
        finally:
            back(self)

    def stop_database(self) -> None:
        embedded.stop(self.folder)

    def start_database(self) -> None:
        embedded.start(self.folder)

    def freeze_database(self) -> None:
        self._frozen = _postgres(self.folder)
        for process in self._frozen:
            os.kill(process, signal.SIGSTOP)

    def thaw_database(self) -> None:
        for process in self._frozen:
            os.kill(process, signal.SIGCONT)

    def stop_redis(self) -> None:
        self._redis.close()

    def start_redis(self) -> None:
        self._redis.enter_context(redis_server(self._redis_port))

    def close_bucket(self) -> None:
        self.bucket.fault = lambda _method, _name: Fault.RESET

    def open_bucket(self) -> None:
        self.bucket.fault = lambda _method, _name: None

    def take(self, *names: str) -> None:
        for name in names:
            self.pods[name].take_away()

    def give(self, *names: str) -> None:
        for name in names:
            self.pods[name].give_back()

    # What a person sees.

    def get(self, path: str) -> httpx.Response | None:
        """A stranger's request through the Service; None if nothing answers."""
        try:
            return httpx.get(f"{self.url}{path}", timeout=30, trust_env=False, follow_redirects=True)
        except httpx.HTTPError:
            return None


OUTAGES = {
    "database": (Installation.stop_database, Installation.start_database),
    "database that hangs": (Installation.freeze_database, Installation.thaw_database),
    "redis": (Installation.stop_redis, Installation.start_redis),
    "bucket": (Installation.close_bucket, Installation.open_bucket),
    "queue": (lambda self: self.take("queue", "beat"), lambda self: self.give("queue", "beat")),
    "node": (lambda self: self.take("web-0", "worker-0"), lambda self: self.give("web-0", "worker-0")),
}
"""What goes away: how, and how it comes back."""


def named_job(manifests: list[Any], start: str) -> Any:
    """The one Job whose name begins so."""
    (found,) = [one for one in manifests if one["kind"] == "Job" and one["metadata"]["name"].startswith(start)]
    return found


def _postgres(folder: Path) -> list[int]:
    postmaster = int((folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    own = psutil.Process(postmaster)
    return [postmaster, *(child.pid for child in own.children(recursive=True))]


@contextmanager
def installation() -> Iterator[Installation]:
    """A started one with an account, in a folder of its own that is removed."""
    folder = Path(tempfile.mkdtemp(prefix="planarena-outages-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(embedded.stop, folder)
        own = Installation(folder, stack=stack)
        stack.callback(own.stop)
        own.start()
        yield own
