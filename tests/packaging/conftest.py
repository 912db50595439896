"""One wheel for all tests of this folder."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="package")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this checkout."""
    return built_wheel(tmp_path_factory.mktemp("wheel"))


def built_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout into a folder as `./planarena wheel` does, without the network."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command += ["--no-cache-dir", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True, timeout=240)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="package")
def unpacked(wheel, tmp_path_factory) -> Path:
    """A folder that holds what pip would put into `site-packages`."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
