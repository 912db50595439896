"""The Job's manifest: what the schemas of four releases and a careful operator ask of it."""

import pytest

from gpu_jobs.__main__ import parser
from gpu_jobs.launchers.kubernetes import Overrides, build_job
from gpu_jobs.launchers.kubernetes.enrolment import build_secret
from gpu_jobs.launchers.kubernetes.job import merge_patch
from tests.fakes.kubernetes_admission import refusal_of_create
from tests.fakes.kubernetes_schemas import VERSIONS, validate
from tests.gpu_jobs.kubernetes.making import EVALUATION, IMAGE, make_facts, make_settings

EVERYTHING = {
    "node_selector": {"gpu": "h200"}, "tolerations": ({"key": "gpu", "operator": "Exists"},), "priority_class": "low",
    "runtime_class": "gvisor", "queue": "team-a", "queue_priority": "batch", "suspend": True,
    "store": "s3://bucket/steps", "weights_claim": "weights", "model_mirror": "http://mirror:8080",
    "memory_budget": "6GB", "image_pull_secret": "registry",
    "overrides": Overrides(
        job={"backoffLimit": 9},
        pod={"dnsPolicy": "ClusterFirst", "securityContext": {"supplementalGroups": [44]}},
        container={"envFrom": [{"secretRef": {"name": "s3"}}], "resources": {"limits": {"cpu": "8"}}},
        labels={"team": "a"}, annotations={"note": "b"}, env={"OMP_NUM_THREADS": "4"},
    ),
}  # fmt: skip
VARIANTS = {
    "plain": {}, "cpu": {"gpus": 0}, "amd": {"gpu_resource": "amd.com/gpu", "gpus": 2}, "everything": EVERYTHING
}  # fmt: skip


def job_of(facts=None, **settings):
    return build_job(facts=facts or make_facts(), generation=1, settings=make_settings(**settings))


def pod_of(job):
    return job["spec"]["template"]["spec"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("facts", [{}, {"open_shards": 1, "calls_endpoint": True, "needs_gpu": False}])
def test_every_job_is_valid_in_every_supported_release(version, variant, facts):
    job = job_of(make_facts(**facts), **VARIANTS[variant])
    validate(job, version=version)


@pytest.mark.parametrize("variant", VARIANTS)
def test_pods_are_hardened(variant):
    pod = pod_of(job_of(**VARIANTS[variant]))
    container = pod["containers"][0]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
    }  # fmt: skip
    assert {"memory", "ephemeral-storage"} <= set(container["resources"]["limits"])
    assert all("sizeLimit" in volume["emptyDir"] for volume in pod["volumes"] if "emptyDir" in volume)
    assert container["image"] == IMAGE


def test_it_is_a_work_queue_whose_pods_fail_for_good_only_by_their_own_fault():
    spec = job_of()["spec"]
    assert "completions" not in spec
    ignore, fail = spec["podFailurePolicy"]["rules"]
    assert ignore["action"] == "Ignore"
    assert ignore["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert fail["action"] == "FailJob"
    assert not {0, 1, 137, 143} & set(fail["onExitCodes"]["values"])
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_the_worker_understands_its_command():
    command = pod_of(job_of(**EVERYTHING))["containers"][0]["command"]
    assert command[:3] == ["python", "-m", "gpu_jobs"]
    options = parser().parse_args(command[3:])
    assert str(options.evaluation) == EVALUATION
    assert options.store == "s3://bucket/steps"


def test_no_pod_ends_for_want_of_work_while_shards_are_left():
    """Kubernetes creates no further pods for a work queue of which one pod has ended with 0."""
    options = parser().parse_args(pod_of(job_of())["containers"][0]["command"][3:])
    assert options.idle_seconds is None


def test_the_token_is_only_referred_to_and_comes_from_the_job_s_own_secret():
    job = job_of()
    env = {one["name"]: one for one in pod_of(job)["containers"][0]["env"]}
    reference = env["PLANARENA_WORKER_TOKEN"]["valueFrom"]["secretKeyRef"]
    assert reference == {"name": job["metadata"]["name"], "key": "token", "optional": False}
    assert [name for name, one in env.items() if "secretKeyRef" in one.get("valueFrom", {})] == [
        "PLANARENA_WORKER_TOKEN"
    ], "no other secret: no seed, no key"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_secret_is_valid_owned_by_the_job_and_never_changes(version):
    job = job_of()
    job["metadata"]["uid"] = "uid-1"
    secret = build_secret(job=job, token="paw_of-this-launch")
    validate(secret, version=version)
    (owner,) = secret["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Job", job["metadata"]["name"], "uid-1")
    assert secret["stringData"] == {"token": "paw_of-this-launch"}
    assert secret["immutable"] is True
    assert "paw_of-this-launch" not in str(job)


def test_no_more_pods_than_shards_and_no_gpu_where_plans_are_judged():
    job = job_of(make_facts(open_shards=1, needs_gpu=False), parallelism=8, node_selector={"gpu": "h200"})
    assert job["spec"]["parallelism"] == 1
    assert "nvidia.com/gpu" not in pod_of(job)["containers"][0]["resources"]["limits"]
    assert "nodeSelector" not in pod_of(job)


def test_only_pods_that_call_endpoints_are_let_out():
    labels = "planarena.io/egress"
    assert job_of(make_facts(calls_endpoint=True))["spec"]["template"]["metadata"]["labels"][labels] == "endpoint"
    assert labels not in job_of()["spec"]["template"]["metadata"]["labels"]


def test_kueue_is_asked_only_where_it_is_named():
    assert "suspend" not in job_of()["spec"]
    assert not [label for label in job_of()["metadata"]["labels"] if "kueue" in label]
    queued = job_of(queue="team-a", suspend=True)
    assert queued["spec"]["suspend"] is True
    assert queued["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"


@pytest.mark.parametrize("shards", [None, 1, 2, 5])
@pytest.mark.parametrize("parallelism", [1, 2, 4])
@pytest.mark.parametrize("overridden", [None, 1, 3])
def test_kueue_admits_jobs_of_any_parallelism(shards, parallelism, overridden):
    overrides = Overrides(job={} if overridden is None else {"parallelism": overridden})
    facts = make_facts(open_shards=shards)
    job = job_of(facts, queue="team-a", suspend=True, parallelism=parallelism, overrides=overrides)
    assert refusal_of_create(job) is None
    reducible = "kueue.x-k8s.io/job-min-parallelism" in job["metadata"]["annotations"]
    assert reducible is (job["spec"]["parallelism"] > 1)


def test_overrides_merge_and_cannot_take_the_identity_away():
    mischief = Overrides(
        job={"template": {}, "backoffLimit": 9, "ttlSecondsAfterFinished": None},
        pod={"containers": [], "restartPolicy": "OnFailure", "priorityClassName": "high"},
        container={"name": "other", "env": []},
        labels={"planarena.io/evaluation": "another"},
    )
    job = job_of(overrides=mischief)
    assert job["spec"]["backoffLimit"] == 9
    assert "ttlSecondsAfterFinished" not in job["spec"]
    assert job["metadata"]["labels"]["planarena.io/evaluation"] == EVALUATION
    pod = pod_of(job)
    assert pod["priorityClassName"] == "high"
    assert pod["restartPolicy"] == "Never"
    assert pod["containers"][0]["name"] == "worker"
    assert pod["containers"][0]["env"]


def test_merge_patches_are_those_of_the_rfc():
    target = {"a": "b", "c": {"d": "e", "f": "g"}}
    assert merge_patch(target, {"a": "z", "c": {"f": None}}) == {"a": "z", "c": {"d": "e"}}
    assert merge_patch({"a": [1]}, {"a": {"b": None, "c": 1}}) == {"a": {"c": 1}}
    assert target == {"a": "b", "c": {"d": "e", "f": "g"}}
