"""Processes of the site with exactly the environment that their manifest gives them."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from tests.fakes.kubernetes.api import FakeKubernetesApi
from tests.k8s.chart import PRODUCTION, Json, merged, named

SECRETS = {
    "site": {
        "DATABASE_URL": "", "BROKER_URL": "", "PLANARENA_WEBHOOK_KEY": "w" * 50,
        "PLANARENA_SIGNING_KEY": "s" * 50, "EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": "9",
    },
    "web": {"PLANARENA_SECRET_KEY": "k" * 50, "PLANARENA_SECRETS_KEY": "u" * 50},
    "metrics": {"PLANARENA_METRICS_TOKEN": "m" * 20},
}  # fmt: skip
"""What docs/operating.md says that the Secrets hold, but for what a test adds."""
_ROOT = Path(__file__).resolve().parent.parent.parent
_KUBECONFIG = """
apiVersion: v1
kind: Config
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: URL}}]
users: [{name: test, user: {token: of-the-tests}}]
"""


def values(*, seed: str, settings: Mapping[str, str] = {}) -> Json:
    """Values of an operator with hidden data, whose Secrets the chart makes, so that a test can read them."""
    created = merged(SECRETS, {"web": {"PLANARENA_HIDDEN_SEED": seed}})
    shared = {"PLANARENA_SPLIT": "hidden", "PLANARENA_KUBERNETES_CONTEXT": "test", **settings}
    return merged(PRODUCTION, {"secrets": {"create": created}, "settings": shared})


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
        "PATH": os.environ["PATH"], "HOME": str(folder), "DJANGO_SETTINGS_MODULE": "leaderboard.site.settings",
    }  # fmt: skip


def run(command: Sequence[str], *, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a command of a container, with the interpreter of the tests."""
    program = [sys.executable if part == "python" else part for part in command]
    return subprocess.run(
        program, env=dict(environment), cwd=_ROOT, capture_output=True, text=True, check=False, timeout=240
    )
