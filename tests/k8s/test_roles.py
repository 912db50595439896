"""Each process of the site with exactly what its manifest gives it: none needs what another role has."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection
from django.utils import timezone

from leaderboard.catalog.seasons import announce
from leaderboard.evaluations.models import Evaluation, Shard, TaskResult
from leaderboard.messages.models import Kind, Webhook
from leaderboard.messages.outbox import enqueue
from leaderboard.messages.webhooks import encrypt_secret
from leaderboard.operations.models import Moment
from leaderboard.planners.models import Planner
from leaderboard.platform.celery import app
from leaderboard.platform.secret_keys import ONLY_WEB
from tests.fakes.kubernetes.api import FakeKubernetesApi
from tests.k8s.chart import CHART, PRODUCTION, VOLUME, Json, build, containers_of, merged, named, of_kind, render
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_user
from tests.leaderboard.executed import BOXES, make_executed_evaluation

SEED = "5eed" * 16
SECRETS = {
    "site": {
        "DATABASE_URL": "", "BROKER_URL": "", "PLANARENA_WEBHOOK_KEY": "w" * 50,
        "PLANARENA_SIGNING_KEY": "s" * 50, "EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": "9",
    },
    "web": {"PLANARENA_SECRET_KEY": "k" * 50, "PLANARENA_SECRETS_KEY": "u" * 50, "PLANARENA_HIDDEN_SEED": SEED},
    "metrics": {"PLANARENA_METRICS_TOKEN": "m" * 20},
}  # fmt: skip
"""What docs/install.md says that the Secrets hold."""
VALUES = merged(PRODUCTION, VOLUME, {
    "secrets": {"create": SECRETS},
    "settings": {"PLANARENA_SPLIT": "hidden", "PLANARENA_KUBERNETES_CONTEXT": "test"},
})  # fmt: skip
"""Of an operator with hidden data, whose Secrets the chart makes, so that a test can read them."""
_ROOT = Path(__file__).resolve().parent.parent.parent
_KUBECONFIG = """
apiVersion: v1
kind: Config
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: URL}}]
users: [{name: test, user: {token: of-the-tests}}]
"""


def environment_in(container: Json, manifests: list[Json]) -> dict[str, str]:
    """The variables that the kubelet gives a container."""
    found: dict[str, str] = {}
    for source in container.get("envFrom", []):
        if "configMapRef" in source:
            found |= named(manifests, "ConfigMap", source["configMapRef"]["name"])["data"]
        else:
            name = source["secretRef"]["name"]
            secrets = [item for item in manifests if item["kind"] == "Secret" and item["metadata"]["name"] == name]
            assert secrets or source["secretRef"].get("optional"), name
            found |= {key: value for item in secrets for key, value in item["stringData"].items()}
    for variable in container.get("env", []):
        text = variable.get("value", "10.0.0.7")
        found[variable["name"]] = re.sub(r"\$\((\w+)\)", lambda name: found.get(name[1], name[0]), text)
    return found


def on_this_machine(environment: Mapping[str, str], *, folder: Path, api: FakeKubernetesApi) -> dict[str, str]:
    """The same variables, with this test's database, cluster and folders in the place of the mounted ones."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(_KUBECONFIG.replace("URL", api.url))
    places = {"/data": folder / "data", "/store": folder / "store", "/uploads": folder / "uploads"}
    moved = {name: str(places.get(value, value)) for name, value in environment.items()}
    database = connection.settings_dict
    url = f"postgresql://{quote(database['USER'])}@/{database['NAME']}?host={quote(database['HOST'])}"
    if database["PORT"]:
        url += f"&port={database['PORT']}"
    return {
        **moved, "DATABASE_URL": url, "KUBECONFIG": str(kubeconfig), "PLANARENA_EGRESS_PROXY": "",
        "PATH": os.environ["PATH"], "HOME": str(folder), "DJANGO_SETTINGS_MODULE": "leaderboard.platform.settings",
    }  # fmt: skip


def run(command: Sequence[str], *, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a command of a container, with the interpreter of the tests."""
    program = [sys.executable if part == "python" else part for part in command]
    return subprocess.run(
        program, env=dict(environment), cwd=_ROOT, capture_output=True, text=True, check=False, timeout=240
    )


@pytest.fixture
def site(settings, tmp_path):
    """A populated site with hidden evaluations; `site(name)` gives the environment of a Deployment's process."""
    settings.HIDDEN_SEED = SEED
    settings.WEBHOOK_KEYS = ["w" * 50]
    settings.STORE_DIR = tmp_path / "store"
    evaluations = [make_executed_evaluation(user=make_user(name)) for name in ("one", "two", "gold")]
    Planner.objects.filter(pk=evaluations[2].submission.planner_id).update(bundled_name="gold")
    season = announce(name="1")
    for folder in (tmp_path / "store").iterdir():
        folder.rename(tmp_path / "store" / "hidden")
    Evaluation.objects.filter(pk__in=[one.pk for one in evaluations]).update(split="hidden", season=season)
    waiting = {"suite": evaluations[0].suite, "split": "hidden", "season": season, "samples": 2}
    for number, state in enumerate(("queued", "launching", "running", "aggregating", "on_hold")):
        planner = make_planner(owner=make_user(f"user{number}"), name=state, bundled_name="no-op")
        due = timezone.now() - timedelta(days=1)
        one = make_evaluation(planner=planner, state=state, state_deadline=due, finished=None, summary=None, **waiting)
        Shard.objects.create(evaluation=one, number=0, task_keys=[BOXES], available_at=due)
    owner = evaluations[0].submission.submitted_by
    webhook = Webhook.objects.create(owner=owner, url="https://127.0.0.1:9/", secret=encrypt_secret("secret"))
    enqueue(kind=Kind.MAIL, payload={"to": ["ada@example.org"], "subject": "A mail", "body": "."})
    enqueue(kind=Kind.WEBHOOK, payload={"webhook": str(webhook.pk), "event": "evaluation.completed", "data": {}})
    with FakeKubernetesApi().serving() as api:
        manifests = render(VALUES)

        def environment(kind, name):
            broker = {"BROKER_URL": f"filesystem://{tmp_path}/"}
            main = main_container(named(manifests, kind, name))
            return on_this_machine(environment_in(main, manifests) | broker, folder=tmp_path, api=api)

        yield environment, evaluations[2], manifests


def main_container(item):
    """The container with the name of its Deployment or CronJob."""
    name = item["metadata"]["name"].removeprefix("planarena-")
    (found,) = [one for one in containers_of(item) if one["name"] == name]
    return found


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_queue_process_runs_every_task_without_the_keys_of_the_web_process(site):
    environment_of, gold, _ = site
    environment = environment_of("Deployment", "planarena-queue")
    assert not set(ONLY_WEB) & set(environment)
    evaluation = str(gold.pk)
    app.loader.import_default_modules()
    tasks = sorted(name for name in app.tasks if name.startswith("leaderboard."))
    arguments = {
        "leaderboard.queue.tasks.reconcile_evaluation": evaluation,
        "leaderboard.queue.tasks.stop_workers": evaluation,
        "leaderboard.queue.tasks.replace_worker": f"nobody,{evaluation}",
        "leaderboard.reliability.tasks.measure_profile": evaluation,
        "leaderboard.causes.tasks.find_causes_beside": evaluation,
    }
    before = dict(TaskResult.objects.filter(evaluation__split="hidden").values_list("pk", "causes"))
    given = [f"{name}={value}" for name, value in arguments.items()]
    ended = run(["python", "-m", "tests.k8s.run_tasks", *given], environment=environment)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [f"{name} SUCCESS" for name in tasks * 2], ended.stderr
    assert "Traceback" not in ended.stderr, ended.stderr
    assert not [name for name in ONLY_WEB if name in ended.stderr], "advice that this role must not follow"
    assert dict(TaskResult.objects.filter(pk__in=before).values_list("pk", "causes")) == before
    completed = Evaluation.objects.filter(state="completed")
    assert not completed.filter(causes_outdated_since=None).exists()

    ended = run(["python", "manage.py", "find_causes"], environment=environment_of("Deployment", "planarena-web"))
    assert ended.returncode == 0, ended.stderr
    assert "All results are done." in ended.stdout, ended.stdout + ended.stderr
    assert not completed.exclude(causes_outdated_since=None).exists()


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_regular_work_runs_as_its_manifests_say(site, tmp_path):
    environment_of, _, manifests = site
    jobs = {item["metadata"]["name"]: item for item in of_kind(manifests, "CronJob")}
    # A backup is checked after it is made.
    assert list(jobs)[:2] == ["planarena-back-up", "planarena-check-backup"]
    for name, item in jobs.items():
        container = main_container(item)
        writable = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        command = [part.replace("/backups", str(tmp_path / "backups")) for part in container["command"]]
        assert ("/backups" in writable) is (command != container["command"])
        ended = run(command, environment=environment_of("CronJob", name))
        assert ended.returncode == 0, f"{name}: {ended.stderr}"
        assert "Traceback" not in ended.stderr, ended.stderr
    assert (tmp_path / "backups" / "arena" / "backup.json").is_file()
    assert Moment.objects.filter(name="backup").exists()


def test_the_documents_list_regular_work_as_it_is():
    text = (CHART.parent.parent / "docs" / "back-up.md").read_text(encoding="utf-8")
    described = (CHART / "values.yaml").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(planarena-[a-z-]+)` \| \[?`([^`]+)`", text, re.MULTILINE)
    jobs = of_kind(build("production"), "CronJob")
    assert sorted(listed) == sorted(
        (item["metadata"]["name"], " ".join(main_container(item)["command"][2:])) for item in jobs
    )
    for item in jobs:
        assert re.search(rf"^  {camel(item)}: .*{re.escape(item['spec']['schedule'])}", described, re.MULTILINE)


def camel(item):
    first, *rest = item["metadata"]["name"].removeprefix("planarena-").split("-")
    return first + "".join(part.title() for part in rest)
