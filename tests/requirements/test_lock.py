"""Pins, hashes and pyproject.toml agree, and the command that writes the hashes keeps them so."""

import importlib.util
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "requirements"
_spec = importlib.util.spec_from_file_location("refresh", FOLDER / "refresh.py")
refresh = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refresh)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSTRAINTS = refresh.pins((ROOT / "constraints.txt").read_text())
FILES = sorted(FOLDER.glob("*.txt"))
AGAIN = "run ./planarena lock"


def names(requirements):
    return {refresh.canonical(Requirement(text).name) for text in requirements}


def pinned(name):
    return refresh.pins((FOLDER / name).read_text())


def entries(path):
    """Each requirement with its hashes."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.M).replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line.strip()]


def test_every_package_has_hashes_and_the_pinned_version():
    assert {path.name for path in FILES} == {lock.name for lock in refresh.LOCKS} | {"torch-cpu.txt"}
    for path in FILES:
        found = pinned(path.name)
        assert len(entries(path)) == len(found)
        for words in entries(path):
            assert re.fullmatch(r"[A-Za-z0-9][\w.-]*==\S+", words[0]), words[0]
            assert any(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", word) for word in words), words[0]
        assert {name: CONSTRAINTS.get(name) for name in found} == found, AGAIN
    used = {name for path in FILES for name in pinned(path.name)}
    assert set(CONSTRAINTS) == used, AGAIN


def needed(*extras):
    """What the project's dependencies and these extras name, with the extras that they include."""
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in PROJECT["optional-dependencies"][extra])]
    inner = [extra for text in texts for extra in Requirement(text).extras if Requirement(text).name == "planarena"]
    found = names(texts) - {"planarena"}
    return found | needed(*inner) if inner else found


def test_what_the_project_depends_on_is_locked_in_the_file_for_its_purpose():
    for lock in (lock for lock in refresh.LOCKS if lock.extras):
        torch = set() if lock.name == "site.txt" else {"torch"}
        assert needed(*lock.extras) - set(pinned(lock.name)) == torch, AGAIN
    extras = PROJECT["optional-dependencies"]
    assert names(extras["node"]) <= set(pinned("node.txt"))
    assert names(extras["lock"]) <= set(pinned("lock.txt"))
    assert set(pinned("run.txt")) <= set(pinned("test.txt"))
    assert set(pinned("site.txt")) | set(pinned("worker.txt")) == set(pinned("run.txt"))
    assert not {"torch", "transformers", "diffusers", "torchmetrics", "bert-score"} & set(pinned("site.txt"))
    assert not {"django", "celery", "psycopg", "kubernetes"} & set(pinned("worker.txt"))


@pytest.mark.parametrize("name", ["run.txt", "site.txt", "worker.txt", "test.txt"])
def test_what_locked_packages_need_here_is_locked_too(name):
    """Files are installed without resolving: whatever one of them forgets is missing."""
    found = pinned(name)
    here = {refresh.canonical(one.name) for one in metadata.distributions()}
    # What another system or Python needs is not installed here.
    for package in here & set(found):
        for text in metadata.requires(package) or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                other = refresh.canonical(wanted.name)
                assert other in found or other == "torch", f"{package} needs {other}; {AGAIN}"
                version = found.get(other, CONSTRAINTS["torch"])
                assert wanted.specifier.contains(version, prereleases=True), f"{package} needs {wanted}; {AGAIN}"


def test_the_versions_that_are_installed_here_are_the_locked_ones():
    found = {refresh.canonical(one.name): one.version.partition("+")[0] for one in metadata.distributions()}
    wrong = {name: found[name] for name, version in pinned("test.txt").items() if found.get(name, version) != version}
    assert wrong == {}


def test_the_cpu_build_of_torch_needs_what_the_resolver_is_told():
    told = tomllib.loads((FOLDER / "uv.toml").read_text())["dependency-metadata"]
    (torch,) = [one for one in told if one["name"] == "torch"]
    needed = [text for text in metadata.requires("torch") if "extra ==" not in text and "nvidia" not in text]
    assert {str(Requirement(text)) for text in torch["requires-dist"]} == {
        str(Requirement(text)) for text in needed if "platform_system" not in text
    }


def test_torch_s_cpu_wheels_are_there_for_every_system():
    text = (FOLDER / "torch-cpu.txt").read_text()
    listed = dict(reversed(line.split()) for line in re.findall(r"^#   (.*)$", text, re.M))
    hashes = {word.removeprefix("--hash=sha256:") for word in entries(FOLDER / "torch-cpu.txt")[0][1:]}
    assert set(listed.values()) == hashes
    for python in refresh.PYTHONS:
        for system in ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "macosx_14_0_arm64"):
            assert any(f"-{python}-{python}-{system}" in name for name in listed), (python, system)


PAGE = "\n".join(
    f'<a href="/whl/cpu/torch-9.1.0{local}-{python}-{python}{thread}-{system}.whl#sha256={number:064x}">torch</a>'
    for number, (local, python, thread, system) in enumerate(
        (local, python, thread, system)
        for python in ("cp310", "cp311", "cp312", "cp313", "cp314")
        for thread in ("", "t")
        for local, system in (
            ("%2Bcpu", "manylinux_2_28_x86_64"), ("%2Bcpu", "manylinux_2_28_aarch64"), ("%2Bcpu", "win_amd64"),
            ("%2Bcpu", "linux_s390x"), ("", "macosx_14_0_arm64"),
        )
    )
)  # fmt: skip


def test_hashes_of_a_new_torch_are_read_from_its_index():
    wheels = refresh.cpu_wheels(PAGE, version="9.1.0")
    assert len(wheels) == 12
    assert all(name.startswith("torch-9.1.0") for name in wheels)
    assert not [name for name in wheels if "cp310" in name or "win" in name or "s390x" in name or "314t" in name]
    text = refresh.torch_requirements(wheels, version="9.1.0")
    assert refresh.pins(text) == {"torch": "9.1.0"}
    assert text.count("--hash=sha256:") == 12
    with pytest.raises(refresh.LockError, match=r"has 0 CPU wheels of torch 9\.2\.0, not 12"):
        refresh.cpu_wheels(PAGE, version="9.2.0")


def test_constraints_follow_what_was_resolved_and_keep_their_spelling():
    before = "Django==5.2.1\nclick==8.0\ngone==1\n"
    after = refresh.constraints_after(before=before, resolved={"django": "5.2.19", "click": "8.0", "new-one": "2"})
    assert after == "click==8.0\nDjango==5.2.19\nnew-one==2\n"


def test_the_bootstrap_script_and_the_images_install_by_hash_only():
    script = (ROOT / "planarena").read_text()
    commands = [line for line in script.splitlines() if "-m pip install" in line]
    assert [line for line in commands if "--require-hashes" not in line and "--dry-run" not in line] == []
    assert len(commands) == 2
