"""The images and the compose files, as far as they can be read without an engine."""

import fnmatch
import json
import re
from importlib import metadata

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from leaderboard.platform.secret_keys import ONLY_WEB
from tests.k8s.chart import of_each
from tests.k8s.images.dockerfiles import IMAGES, MACHINES, ROOT, instructions, locks_of, of, python_of, stages

COMPOSE = ROOT / "k8s" / "compose.yaml"


@of_each(dockerfile=IMAGES)
def test_it_ends_as_a_user_by_number_that_is_not_root(dockerfile):
    last = stages(dockerfile)[-1]
    user, group = of(last, "USER")[-1].split(":")
    assert int(user) > 0
    assert int(group) > 0
    made = " ".join(of(last, "RUN"))
    assert f"--uid {user}" in made
    for volume in json.loads(of(last, "VOLUME")[0]):
        assert volume == "/tmp" or volume in made, "a folder that is written must be the user's"


@of_each(dockerfile=IMAGES)
def test_it_is_built_in_stages_and_the_last_has_no_build_tools(dockerfile):
    found = stages(dockerfile)
    assert len(found) >= 3
    assert not [run for run in of(found[-1], "RUN") if re.search(r"\b(pip|npm|curl|git)\b", run)]


@of_each(dockerfile=IMAGES)
def test_base_images_are_named_by_version_and_digest(dockerfile):
    arguments = dict(rest.partition("=")[::2] for name, rest in instructions(dockerfile) if name == "ARG")
    earlier = set()
    for stage in stages(dockerfile):
        words = stage[0][1].split()
        if words[0] not in earlier:
            image = re.sub(r"\$\{(\w+)\}", lambda name: arguments[name[1]], words[0])
            assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image), image
            assert ":latest@" not in image, image
        earlier |= set(words[2:])


@of_each(dockerfile=IMAGES)
def test_what_it_copies_is_there_and_is_let_through(dockerfile):
    names = {stage[0][1].split()[-1] for stage in stages(dockerfile)}
    for stage in stages(dockerfile):
        for rest in of(stage, "COPY"):
            *sources, _ = [word for word in rest.split() if not word.startswith("--")]
            if "--from=" in rest:
                assert re.search(r"--from=(\S+)", rest)[1] in names
                continue
            for source in sources:
                assert (ROOT / source).exists(), source
                assert let_through(source), source


def let_through(source):
    """Whether .dockerignore leaves a file or folder in the context."""
    let = False
    path = source.rstrip("/")
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        rule = line.strip()
        if not rule or rule.startswith("#"):
            continue
        pattern = rule.lstrip("!")
        if pattern == "*" or path == pattern or path.startswith(f"{pattern}/") or fnmatch.fnmatch(path, pattern):
            let = rule.startswith("!")
    return let


def test_the_context_holds_no_data_and_no_secrets():
    kept_out = (".git", ".data", ".venv", "k8s/compose.env", "arena.env", "frontend/node_modules", "frontend/dist")
    assert [path for path in kept_out if let_through(path)] == []
    assert all(let_through(path) for path in ("evaluator", "requirements", "frontend/src"))


@of_each(dockerfile=IMAGES)
def test_no_secret_is_built_in(dockerfile):
    for name, rest in instructions(dockerfile):
        if name in {"ENV", "ARG"}:
            assert not re.search(r"(TOKEN|SECRET|PASSWORD|SEED|DATABASE_URL)", rest), rest


@of_each(dockerfile=IMAGES)
def test_its_commands_name_modules_that_are_there(dockerfile):
    last = stages(dockerfile)[-1]
    lines = of(last, "CMD") + [re.sub(r"^.*?CMD ", "", rest) for rest in of(last, "HEALTHCHECK")]
    copied = " ".join(of(last, "COPY"))
    assert lines
    for line in lines:
        words = json.loads(line)
        module = words[words.index("-m") + 1] if "-m" in words else words[1].partition(":")[0]
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
        assert module.split(".")[0] + "/" in copied


@of_each(dockerfile=IMAGES)
def test_every_package_is_installed_by_hash_and_none_is_built(dockerfile):
    installing = [run for stage in stages(dockerfile) for run in of(stage, "RUN") if "pip install" in run]
    files = {"web": ["site.txt"], "worker": ["torch-${TORCH}.txt", "worker.txt"]}[dockerfile.stem]
    assert [re.findall(r"requirements/([^\"\s]+)", run) for run in installing] == [[name] for name in files]
    for run in installing:
        assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(run.split()), run
        (name,) = re.findall(r'-r "?(requirements/[^"\s]+)', run)
        assert (ROOT / name.replace("${TORCH}", "cuda")).is_file()


@of_each(dockerfile=IMAGES)
def test_compiled_modules_are_the_same_in_every_build(dockerfile):
    for stage in stages(dockerfile):
        names = [name for name, _ in stage]
        if any("-m venv" in rest for rest in of(stage, "RUN")):
            assert ("ARG", "SOURCE_DATE_EPOCH=0") in stage
            assert stage.index(("ARG", "SOURCE_DATE_EPOCH=0")) < names.index("RUN")


def environment_of(dockerfile, machine):
    """What markers of requirements compare with, in an image."""
    version, _ = python_of(dockerfile)
    return {
        "python_version": version, "python_full_version": f"{version}.1", "implementation_version": f"{version}.1",
        "implementation_name": "cpython", "platform_python_implementation": "CPython", "os_name": "posix",
        "sys_platform": "linux", "platform_system": "Linux", "platform_machine": machine, "platform_release": "",
        "platform_version": "", "extra": "",
    }  # fmt: skip


@of_each(dockerfile=IMAGES, machine=MACHINES)
def test_nothing_that_an_image_s_packages_need_on_its_python_is_missing(dockerfile, machine):
    """`pip install --no-deps` asks for nothing by itself. Whether each has a wheel there: tests/packaging, `--full`."""
    environment = environment_of(dockerfile, machine)
    found = {}
    for path in locks_of(dockerfile):
        text = re.sub(r"\\\n\s+--hash=\S+", "", re.sub(r"^#.*\n", "", path.read_text(), flags=re.M))
        for line in text.splitlines():
            wanted = Requirement(line.rstrip(" \\"))
            if wanted.marker is None or wanted.marker.evaluate(environment):
                found[canonicalize_name(wanted.name)] = str(next(iter(wanted.specifier)).version)
    installed = {canonicalize_name(one.name) for one in metadata.distributions()}
    known = set(found) & installed
    assert len(known) > 50
    for package in known:
        for text in metadata.requires(package) or ():
            needed = Requirement(text)
            # The CUDA build's own libraries are not those of the build that is installed here.
            if needed.marker is None or needed.marker.evaluate(environment):
                name = canonicalize_name(needed.name)
                assert name in found, f"{package} needs {needed}, which {dockerfile.name} does not install"
                assert needed.specifier.contains(found[name], prereleases=True), f"{package} needs {needed}"


def test_only_the_worker_s_image_has_torch():
    installed = {path.stem: "\n".join(lock.read_text() for lock in locks_of(path)) for path in IMAGES}
    for name in ("torch", "transformers", "diffusers", "bert-score", "torchmetrics"):
        assert re.search(rf"^{name}==", installed["worker"], re.M), name
        assert not re.search(rf"^{name}==", installed["web"], re.M), name


# --- Compose ----------------------------------------------------------------------------------------------------------


def services():
    return yaml.safe_load(COMPOSE.read_text())["services"]


def test_every_service_is_hardened_and_pinned():
    for name, service in services().items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert ":" in service["image"], name
        assert not service["image"].endswith(":latest"), name
        assert "pids_limit" in service or name == "postgres", name


def test_services_refer_to_what_is_there():
    everything = yaml.safe_load(COMPOSE.read_text())
    for name, service in services().items():
        assert set(service.get("depends_on", {})) <= set(services()), name
        if build := service.get("build"):
            assert (ROOT / "k8s" / build["context"] / build["dockerfile"]).resolve().is_file(), name
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in everything["volumes"], name
    further = yaml.safe_load((ROOT / "k8s" / "compose.gpu.yaml").read_text())
    assert set(further["services"]) <= set(services())


def test_only_this_machine_reaches_the_site_and_nobody_the_database():
    ports = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert ports == {"web": ["127.0.0.1:8000:8000"]}


def test_the_worker_knows_no_secret_but_its_token():
    worker = services()["worker"]
    assert "env_file" not in worker
    assert set(worker["environment"]) == {"PLANARENA_API_URL", "PLANARENA_DEVICE", "PLANARENA_WORKER_TOKEN"}


@of_each(name=["queue", "beat"])
def test_the_queue_s_services_get_no_key_of_the_web_process(name):
    environment = services()[name]["environment"]
    assert environment["PLANARENA_ROLE"] == "queue"
    assert {variable: environment[variable] for variable in ONLY_WEB} == dict.fromkeys(ONLY_WEB, "")


def test_the_example_environment_has_what_the_site_needs():
    example = (ROOT / "k8s" / "compose.env.example").read_text()
    names = set(re.findall(r"^(\w+)=", example, flags=re.M))
    assert {
        "DATABASE_URL", "PLANARENA_SECRET_KEY", "PLANARENA_WORKER_TOKEN", "PLANARENA_ALLOWED_HOSTS", "POSTGRES_PASSWORD"
    } <= names  # fmt: skip
    wanted = set(re.findall(r"\$\{(\w+):\?", COMPOSE.read_text()))
    assert wanted <= names
    (hosts,) = re.findall(r"^PLANARENA_ALLOWED_HOSTS=(.*)$", example, flags=re.M)
    assert "web" in hosts.split(",")
