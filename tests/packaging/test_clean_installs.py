"""`pip install` of the wheel into environments of their own, one for each extra, and one real command of each.

Takes minutes and downloads from the package index.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.packaging.conftest import ROOT

PIN = re.search(r"^torch==\S+", (ROOT / "constraints.txt").read_text(), re.M)[0]
BARE = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "SSL_CERT_FILE") if name in os.environ} | {
    name: value for name, value in os.environ.items() if name.startswith(("PIP_", "PLANARENA_DAEMON"))
}
pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]


class Installed:
    """A virtual environment with the wheel and one extra."""

    def __init__(self, *, folder, wheel, extra):
        self.folder, self.bin = folder, folder / "venv" / "bin"
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        if extra in {"worker", "train"}:
            # Where the index has a CPU build it is taken first; the plain one needs gigabytes of CUDA.
            self.pip(PIN)
        self.pip("--constraint", str(ROOT / "constraints.txt"), f"{wheel}[{extra}]" if extra else str(wheel))

    def pip(self, *arguments):
        command = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", *arguments]
        subprocess.run(command, check=True, env=BARE)

    def run(self, *arguments, **environment):
        return subprocess.run(
            [str(self.bin / arguments[0]), *arguments[1:]],
            cwd=self.folder, capture_output=True, text=True, timeout=600, env=BARE | environment,
        )  # fmt: skip

    def planarena(self, *arguments, **environment):
        return self.run("planarena", *arguments, **environment)

    def has(self, module):
        return self.run("python", "-c", f"import {module}").returncode == 0


@pytest.fixture(params=["", "client", "plans", "worker", "site", "train"], ids=lambda extra: extra or "base")
def installed(request, wheel, tmp_path):
    return request.param, Installed(folder=tmp_path, wheel=wheel, extra=request.param)


def test_an_extra_installs_into_a_clean_environment_and_its_commands_work(installed):
    extra, environment = installed
    version = environment.planarena("--version")
    assert re.fullmatch(r"planarena [\d.]+ \(commit [0-9a-f]{12}(, with changes)?\)\n", version.stdout), version.stderr
    assert environment.has("torch") is (extra in {"worker", "train"})
    assert environment.has("django") is (extra == "site")
    COMMANDS[extra](environment)


def nothing(environment):
    done = environment.planarena("submit", "--name", "a", "--suite", "openagi", "--planner", "gold")
    assert (done.returncode, "planarena[client]" in done.stderr) == (2, True), done.stderr


def client(environment):
    away = {"PLANARENA_URL": "http://127.0.0.1:9", "PLANARENA_TOKEN": "t"}
    done = environment.planarena("status", "1", "--patience", "0", **away)
    assert (done.returncode, "Connection refused" in done.stderr) == (4, True), done.stderr
    done = environment.planarena("verify", "http://127.0.0.1:9/boards/openagi/", "--patience", "0")
    assert (done.returncode, "Traceback" in done.stderr) == (4, False), done.stderr


def plans(environment):
    assert "toolmini" in environment.planarena("suites", "list").stdout
    done = environment.planarena("evaluate", "--suite", "toolmini", "--planner", "gold", "--output", "out.json")
    assert done.returncode == 0, done.stderr
    written = json.loads((environment.folder / "out.json").read_text())
    assert written
    done = environment.planarena("evaluate", "--suite", "openagi", "--planner", "gold", "--tasks", "0")
    assert (done.returncode, "planarena[worker]" in done.stderr) == (2, True), done.stderr


def worker(environment):
    done = environment.planarena(
        "evaluate", "--suite", "openagi", "--planner", "gold", "--tasks", "0", "--samples", "1"
    )
    assert done.returncode == 0, done.stderr
    done = environment.planarena("worker", "--url", "http://127.0.0.1:9")
    assert (done.returncode, "PLANARENA_WORKER_TOKEN is not set" in done.stderr) == (12, True), done.stderr


def site(environment):
    settings = {"PLANARENA_DEMO": "1"}
    for arguments in (["migrate", "--verbosity", "0"], ["collectstatic", "--no-input"], ["register_suites"]):
        done = environment.planarena("manage", *arguments, **settings)
        assert done.returncode == 0, done.stderr
    page = (
        "from django.test import Client; answer = Client(SERVER_NAME='127.0.0.1').get('/');"
        "print(answer.status_code, b'/static/app.' in answer.content)"
    )
    done = environment.planarena("manage", "shell", "--no-imports", "--command", page, **settings)
    assert done.stdout.split()[-2:] == ["200", "True"], done.stderr
    assert (environment.folder / ".data").is_dir()


def train(environment):
    done = environment.planarena("train", "--help")
    assert (done.returncode, "--help" in done.stdout) == (0, True), done.stderr
    assert environment.has("peft")


COMMANDS = {"": nothing, "client": client, "plans": plans, "worker": worker, "site": site, "train": train}
