"""Settings from the environment: every mistake is named."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from gpu_jobs.launchers.kubernetes import KubernetesSettings, SettingsError, build_job, settings_from
from tests.gpu_jobs.kubernetes.making import IMAGE, make_facts

URL = "http://site"


def read(**variables):
    given = {f"PLANARENA_KUBERNETES_{name.upper()}": value for name, value in variables.items()}
    return settings_from(environment={"PATH": "/bin", "PLANARENA_KUBERNETES_IMAGE": IMAGE, **given}, api_url=URL)


def test_only_the_image_must_be_set():
    assert read() == KubernetesSettings(image=IMAGE, api_url=URL)
    with pytest.raises(SettingsError, match="PLANARENA_KUBERNETES_IMAGE is not set"):
        settings_from(environment={}, api_url=URL)


def test_values_are_read_by_their_kind(tmp_path):
    overrides = tmp_path / "overrides.json"
    overrides.write_text(json.dumps({"pod": {"dnsPolicy": "Default"}}))
    found = read(
        parallelism="4", node_selector="gpu=h200, zone=a", tolerations='[{"key": "gpu"}]', queue="team-a",
        overrides=str(overrides), memory="80Gi",
    )  # fmt: skip
    assert found.parallelism == 4
    assert found.node_selector == {"gpu": "h200", "zone": "a"}
    assert found.tolerations == ({"key": "gpu"},)
    assert found.overrides.pod == {"dnsPolicy": "Default"}
    assert found.suspend is True
    assert read(queue="team-a", suspend="0").suspend is False


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("image", "registry.example/worker:1.0", "must be registry/name@sha256:digest"),
        ("paralelism", "4", "PLANARENA_KUBERNETES_PARALELISM is no setting; known are"),
        ("token_secret", "planarena-worker", "TOKEN_SECRET is no longer a setting: each Job gets a Secret"),
        ("token_key", "token", "TOKEN_KEY is no longer a setting: each Job gets a Secret"),
        ("hidden_seed_key", "seed", "HIDDEN_SEED_KEY is no longer a setting: workers fetch the seed"),
        ("idle_seconds", "60", "PLANARENA_KUBERNETES_IDLE_SECONDS is no longer a setting: a worker ends when"),
        ("parallelism", "0", "whole number of at least 1"),
        ("parallelism", "many", "whole number of at least 1"),
        ("memory", "lots", "a quantity such as"),
        ("node_selector", "gpu", "key=value"),
        ("tolerations", "gpu", "a JSON list"),
        ("suspend", "perhaps", "1 or 0"),
        ("instance", "Plan Arena", "lower-case"),
        ("overrides", "/no/such/file", "path of a JSON file"),
    ],
)
def test_a_wrong_value_is_refused_in_a_sentence(name, value, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        read(**{name: value})


def test_overrides_of_an_unknown_part_are_refused(tmp_path):
    overrides = tmp_path / "overrides.json"
    overrides.write_text(json.dumps({"pods": {}}))
    with pytest.raises(SettingsError, match="annotations, container, env, job, labels, pod"):
        read(overrides=str(overrides))


def test_a_tag_is_taken_only_when_asked_for():
    assert read(image="worker:dev", allow_tags="1").image == "worker:dev"


def test_every_setting_is_documented():
    table = Path("docs/operating.md").read_text()
    for field in dataclasses.fields(KubernetesSettings):
        if field.name not in {"api_url", "egress"}:
            assert f"`PLANARENA_KUBERNETES_{field.name.upper()}`" in table, field.name


def test_workers_call_other_people_s_servers_by_the_site_s_rules():
    rules = {
        "PLANARENA_EGRESS_PROXY": "http://proxy:3128", "PLANARENA_EGRESS_PORTS": "443", "NO_PROXY": ".svc"
    }  # fmt: skip
    given = {**rules, "PLANARENA_KUBERNETES_IMAGE": IMAGE, "HTTPS_PROXY": "http://other:1"}
    settings = settings_from(environment=given, api_url=URL)
    job = build_job(facts=make_facts(), generation=1, settings=settings)
    told = {one["name"]: one.get("value") for one in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert {name: told[name] for name in rules} == rules
    assert "HTTPS_PROXY" not in told
