"""Lock files of profiles: pods of the site read those of the values, with their signatures, and workers do not."""

import pytest

from evaluator.core.signatures.envelope import PrivateKey
from evaluator.execution.experts.checkpoints import Checkpoint, Locked, weights_folder, write_lock
from evaluator.execution.experts.signed_locks import SIGNATURE, lock_problem, sign_lock
from tests.k8s.chart import JOBS, PRODUCTION, SITE, merged, named, of_kind, pod_of, render

SECRET = "an operator's key with 32 characters or more"
PAINTER = Checkpoint(name="painter", url="https://example.org/painter.zip", sha256="a" * 64, licence="MIT", values=1)


@pytest.fixture
def locked(tmp_path):
    """A folder with a signed lock file."""
    entry = Locked(revision="1", files={"model.safetensors": "b" * 64}, source=PAINTER.source, licence="MIT")
    write_lock(folder=tmp_path / "fetched", locked={"painter": entry})
    sign_lock(profile="paper", folder=tmp_path / "fetched", secret=SECRET)
    return tmp_path / "fetched"


def values_of(folder):
    files = {"lock": (folder / "lock.json").read_text(), "signature": (folder / SIGNATURE).read_text()}
    return merged(PRODUCTION, {"locks": {"paper": files}})


def pods_of_the_site(manifests):
    return [
        pod
        for item in manifests
        if item["metadata"].get("namespace") == SITE and (pod := pod_of(item)) and reads_settings(pod)
    ]


def reads_settings(pod):
    sources = [source for container in pod["containers"] for source in container.get("envFrom", [])]
    return {"configMapRef": {"name": "planarena-settings"}} in sources


def test_every_pod_of_the_site_finds_the_signed_lock_where_it_looks_for_it(locked, tmp_path, monkeypatch):
    manifests = render(values_of(locked))
    monkeypatch.setenv(
        "PLANARENA_WEIGHTS", named(manifests, "ConfigMap", "planarena-settings")["data"]["PLANARENA_WEIGHTS"]
    )
    pods = pods_of_the_site(manifests)
    assert len(pods) > 6
    for pod in pods:
        (volume,) = [one for one in pod["volumes"] if "configMap" in one]
        for container in pod["containers"]:
            (mount,) = [one for one in container["volumeMounts"] if one["name"] == volume["name"]]
            assert (mount["mountPath"], mount["readOnly"]) == (str(weights_folder("paper")), True)
        files = named(manifests, "ConfigMap", volume["configMap"]["name"])["data"]
        mounted = tmp_path / "mounted"
        mounted.mkdir(exist_ok=True)
        for name, text in files.items():
            (mounted / name).write_text(text)
        key = PrivateKey.from_secret(SECRET).public
        assert lock_problem(profile="paper", checkpoints={"painter": PAINTER}, folder=mounted, keys={key.id: key}) == ""


def test_another_lock_replaces_the_pods(locked):
    def annotations(values):
        web = named(render(values), "Deployment", "planarena-web")
        return web["spec"]["template"]["metadata"]["annotations"]

    values = values_of(locked)
    assert annotations(values) != annotations(merged(values, {"locks": {"paper": {"lock": "{}"}}}))


def test_without_locks_there_is_nothing_of_them_and_workers_never_have_them(locked):
    plain = render(PRODUCTION)
    assert "PLANARENA_WEIGHTS" not in named(plain, "ConfigMap", "planarena-settings")["data"]
    assert not any("planarena-lock" in str(item) for item in plain)
    workers = [
        item for item in of_kind(render(values_of(locked)), "Deployment") if item["metadata"]["namespace"] == JOBS
    ]
    assert workers
    assert not any("planarena-lock" in str(item) for item in workers)
