"""Model servers start in their sandbox wherever the code, the environment and the interpreter lie."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import evaluator
from tests.gpu_jobs.model_server.isolation.test_sandbox import FULL, named

pytestmark = pytest.mark.full

ROOT = Path(evaluator.__file__).parents[1]
PROBE = """
import logging, sys
logging.basicConfig(level=logging.DEBUG)
from gpu_jobs.model_server.isolation.confinement import Layer
from gpu_jobs.model_server.isolation.sandbox import Sandbox
program = '''
import os, sys
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import Channel
from gpu_jobs.model_server.isolation.confinement import Confinement, confine
from gpu_jobs.model_server.server import channel_socket
connection = channel_socket()
holding = confine(Confinement.model_validate_json(sys.argv[1]), channel=connection.fileno())
import numpy, sqlite3, ssl
open("/dev/urandom", "rb").read(1)
Channel(connection).send(wire.encoded(wire.Hello(confined_by=tuple(holding))))
'''
for names in sys.argv[1:]:
    layers = frozenset(map(Layer, names.split("+")))
    assert Sandbox(layers=layers).probe() == layers
    sandbox = Sandbox(layers=layers, program=("-c", program))
    sandbox.start(folder=None, device="cpu", memory_bytes=1 << 30).server.close()
"""
PLACES = (
    ("/tmp", "checkout"), ("/tmp", "a/b/etc/tmp"), ("/var/tmp", "with blank"), ("/dev/shm", "größe-計画-😀"),
    ("/opt", "-dash"), ("/usr/lib", "checkout"), ("/srv", "new\nline"), ("/var/lib", "etc"),
    (str(Path.home()), """it's "quoted" $HOME `x` \\ %s"""),
)  # fmt: skip
"""Folders, where this user may write to them, and names in them."""


@pytest.fixture(scope="module")
def code(tmp_path_factory) -> Path:
    """The Python files of both packages."""
    folder = tmp_path_factory.mktemp("code")
    for package in ("evaluator", "gpu_jobs"):
        shutil.copytree(ROOT / package, folder / package, ignore=_no_python)
    return folder


def _no_python(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if not name.endswith(".py") and not Path(folder, name).is_dir()} | {"__pycache__"}


@pytest.fixture
def places() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def placed(parent: str, name: str, *, code: Path, places: ExitStack) -> Path:
    """A checkout there, whose environment is a link."""
    base = places.enter_context(tempfile.TemporaryDirectory(prefix="planarena-place-", dir=parent))
    # Of another user than the server's.
    Path(base).chmod(0o755)
    checkout = Path(base, name)
    shutil.copytree(code, checkout)
    (checkout / ".venv").symlink_to(sys.prefix)
    return checkout


def probed(checkout: Path, *, python: Path | None = None, **variables: str) -> str:
    """What a worker says whose model servers do not start in each of the full sandboxes; empty if they do."""
    command = [str(python or checkout / ".venv" / "bin" / "python"), "-c", PROBE, *map(named, FULL)]
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **variables}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize(("parent", "name"), [place for place in PLACES if os.access(place[0], os.W_OK)])
def test_a_checkout_anywhere(parent, name, code, places):
    assert probed(placed(parent, name, code=code, places=places)) == ""


def test_an_interpreter_in_the_folder_for_temporary_files(code, places):
    checkout = placed(tempfile.gettempdir(), "checkout", code=code, places=places)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    prefix = checkout.parent / "an interpreter"
    left_out = shutil.ignore_patterns("site-packages", "dist-packages", "test", "idlelib", "__pycache__", "config-*")
    shutil.copytree(sysconfig.get_path("stdlib"), prefix / "lib" / version, ignore=left_out)
    (prefix / "bin").mkdir()
    shutil.copy(os.path.realpath(sys.executable), prefix / "bin" / version)
    for library in Path(sysconfig.get_config_var("LIBDIR") or "/nowhere").glob(f"lib{version}*.so*"):
        shutil.copy(library, prefix / "lib")
    packages = os.pathsep.join(map(str, {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
    found = probed(
        checkout, python=prefix / "bin" / version, PYTHONPATH=packages, PYTHONHOME=str(prefix),
        LD_LIBRARY_PATH=str(prefix / "lib"),
    )  # fmt: skip
    assert found == ""
