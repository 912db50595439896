"""Every package of an image has a wheel for the image's Python and platform, as the package index has them.

Asks the index, without downloading packages.
"""

import re
import subprocess
import sys

import pytest

from tests.k8s.images.dockerfiles import IMAGES, MACHINES, ROOT, locks_of, python_of

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def uv(tmp_path_factory):
    """The program that `./planarena lock` uses."""
    folder = tmp_path_factory.mktemp("uv")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target"]
    subprocess.run([*command, str(folder), "-r", str(ROOT / "requirements" / "lock.txt")], check=True)
    return folder / "bin" / "uv"


def resolve(uv, *, python, platform, path, into):
    command = [str(uv), "pip", "install", "--no-config", "--dry-run", "--no-deps", "--only-binary", ":all:"]
    command += ["--require-hashes", "--python-version", python, "--python-platform", platform]
    return subprocess.run([*command, "--target", str(into), "-r", str(path)], capture_output=True, text=True)


CASES = [(image, lock, machine) for image in IMAGES for lock in locks_of(image) for machine in MACHINES]


@pytest.mark.parametrize(("image", "lock", "machine"), CASES, ids=lambda one: getattr(one, "stem", one))
def test_every_package_of_an_image_has_a_wheel_there(uv, image, lock, machine, tmp_path):
    python, (major, minor) = python_of(image)
    done = resolve(
        uv, python=python, platform=f"{machine}-manylinux_{major}_{minor}", path=lock, into=tmp_path / "none"
    )
    assert done.returncode == 0, done.stderr
    taken = set(re.findall(r"^ \+ (\S+)==", done.stderr, re.M))
    assert len(taken) > (10 if "torch" in lock.name else 80)
