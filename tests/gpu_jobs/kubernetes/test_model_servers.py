"""Model servers beside a worker's Job: what their manifests say, and that they come and go with it."""

import pytest

from evaluator.isolation.address import parse_address
from gpu_jobs.launchers import LaunchError, LaunchGivenUpError
from gpu_jobs.launchers.kubernetes import KubernetesLauncher, Overrides, SettingsError, build_job
from gpu_jobs.launchers.kubernetes.model_servers import PORT, build_model_servers, number_of
from gpu_jobs.launchers.kubernetes.names import parse_handle
from gpu_jobs.launchers.kubernetes.pods import assess_pod
from gpu_jobs.launchers.kubernetes.reasons import Reason
from gpu_jobs.model_server.serving import parser
from tests.fakes.enrolments import FakeEnrolments
from tests.fakes.kubernetes_api import Fault
from tests.fakes.kubernetes_cluster import exits, starts
from tests.fakes.kubernetes_schemas import VERSIONS, validate
from tests.gpu_jobs.kubernetes.making import EVALUATION, IMAGE, OTHER, make_facts, make_settings

JOB = f"planarena-{EVALUATION}-g1"
MODELS = f"{JOB}-models"
VLLM_IMAGE = f"registry.example/vllm@sha256:{'cd' * 32}"
VLLM = {"model_engine": "vllm", "vllm_image": VLLM_IMAGE}
EVERYTHING = {
    "node_selector": {"gpu": "h200"}, "tolerations": ({"key": "gpu", "operator": "Exists"},), "priority_class": "low",
    "queue": "team-a", "suspend": True, "image_pull_secret": "registry",
    "weights_claim": "weights", "store": "s3://bucket/steps", "model_runtime_class": "gvisor", "parallelism": 3,
    "overrides": Overrides(
        labels={"team": "a", "planarena.io/evaluation": OTHER}, annotations={"note": "b"}, env={"SECRET": "x"},
        container={"envFrom": [{"secretRef": {"name": "s3"}}]}, pod={"hostNetwork": True},
    ),
}  # fmt: skip
VARIANTS = {"plain": {}, "cpu": {"gpus": 0}, "everything": EVERYTHING, "vllm": VLLM, "all vllm": EVERYTHING | VLLM}


def worker_job(facts=None, **settings):
    job = build_job(
        facts=facts or make_facts(loads_model=True), generation=1, settings=make_settings(**settings)
    )  # fmt: skip
    job["metadata"]["uid"] = "uid-of-the-job"
    return job


def beside(**settings):
    manifests = build_model_servers(job=worker_job(**settings), settings=make_settings(**settings))
    return {(item["kind"], item["metadata"]["name"]): item for item in manifests}


def server_job(**settings):
    return beside(**settings)["Job", MODELS]


def pod_of(job):
    return job["spec"]["template"]["spec"]


def sidecar_of(**settings):
    (sidecar,) = pod_of(worker_job(model_server="container", **settings))["initContainers"]
    return sidecar


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_object_is_valid_in_every_supported_release(version, variant):
    for item in beside(**VARIANTS[variant]).values():
        validate(item, version=version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("settings", [{}, {"gpu_claim": "one-gpu"}, {"model_gpus": 1}])
def test_a_worker_with_a_model_server_in_its_pod_is_valid_in_every_supported_release(version, settings):
    validate(worker_job(model_server="container", **settings), version=version)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_model_server_has_nothing_to_take(variant):
    pod = pod_of(server_job(**VARIANTS[variant]))
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert "serviceAccountName" not in pod
    assert "hostNetwork" not in pod
    assert [set(volume) - {"name"} for volume in pod["volumes"]] == [{"emptyDir"}] * len(pod["volumes"])
    assert all("sizeLimit" in volume["emptyDir"] for volume in pod["volumes"])
    text = str(pod)
    for word in ("secret", "Secret", "TOKEN", "SEED", "API_URL", "weights", "s3://", "valueFrom", "envFrom"):
        assert word not in text.replace("imagePullSecrets", ""), word
    assert pod["dnsPolicy"] == "None"


@pytest.mark.parametrize("variant", VARIANTS)
def test_model_servers_are_hardened(variant):
    pod = pod_of(server_job(**VARIANTS[variant]))
    security = pod["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    worker = pod_of(worker_job(**VARIANTS[variant]))
    assert security["runAsUser"] not in {0, worker["securityContext"]["runAsUser"]}
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
        }  # fmt: skip
        assert {"memory", "ephemeral-storage"} <= set(container["resources"]["limits"])
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "@sha256:" in container["image"]


def test_the_operator_s_runtime_class_is_the_model_servers_own():
    assert pod_of(server_job(model_runtime_class="gvisor"))["runtimeClassName"] == "gvisor"
    assert "runtimeClassName" not in pod_of(server_job(runtime_class="kata"))


def test_only_planners_with_a_submitted_model_have_model_servers():
    plain = worker_job(make_facts())
    assert "PLANARENA_MODEL_SERVER" not in str(plain)
    assert "planarena.io/model-server" not in plain["metadata"]["annotations"]
    for where in ("pod", "container"):
        assert "PLANARENA_MODEL_SERVER" in str(worker_job(model_server=where))


def test_a_worker_finds_its_model_servers_by_the_name_of_their_service():
    env = {one["name"]: one.get("value") for one in pod_of(worker_job())["containers"][0]["env"]}
    address = parse_address(env["PLANARENA_MODEL_SERVER"])
    service = beside()["Service", MODELS]
    assert (address.host, address.port) == (f"{MODELS}.planarena-jobs.svc", PORT)
    assert len(MODELS) <= 63
    assert service["spec"]["clusterIP"] == "None"
    labels = server_job()["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert not service["spec"]["selector"].items() <= pod_labels(worker_job()).items()


def pod_labels(job):
    return job["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("variant", ["plain", "everything"])
def test_labels_are_the_evaluation_s_whatever_the_operator_adds(variant):
    labels = pod_labels(server_job(**VARIANTS[variant]))
    assert labels["planarena.io/evaluation"] == EVALUATION
    assert labels["app.kubernetes.io/component"] == "model-server"


def test_the_server_understands_its_command():
    (container,) = pod_of(server_job(model_storage="5Gi"))["containers"]
    assert container["command"][:3] == ["python", "-m", "gpu_jobs.model_server.serving"]
    options = parser().parse_args(container["command"][3:])
    assert (options.listen.port, options.most, options.device) == (PORT, 5 * 2**30, "cuda")
    assert parser().parse_args(pod_of(server_job(gpus=0))["containers"][0]["command"][3:]).device == "cpu"
    env = {one["name"]: one["value"] for one in container["env"]}
    # Its supervisor outlives the model's process, or nobody could say that it used too much.
    assert int(env["PLANARENA_MODEL_MEMORY"]) < number_of(container["resources"]["limits"]["memory"])


@pytest.mark.parametrize(("quantity", "number"), [("16Gi", 2**34), ("1.5G", 1.5e9), ("1500m", 1), ("4", 4)])
def test_quantities_are_read_as_the_cluster_reads_them(quantity, number):
    assert number_of(quantity) == number


def test_everything_is_owned_by_the_worker_s_job_and_not_controlled_by_it():
    for item in beside().values():
        (owner,) = item["metadata"]["ownerReferences"]
        assert owner == {"apiVersion": "batch/v1", "kind": "Job", "name": JOB, "uid": "uid-of-the-job"}


def test_there_is_a_server_for_each_worker_and_a_fresh_one_whenever_one_was_served():
    spec = server_job(parallelism=4)["spec"]
    assert spec["parallelism"] == 4
    assert "completions" not in spec
    disruption, served = spec["podFailurePolicy"]["rules"]
    assert disruption["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert served["action"] == "Ignore"
    assert served["onExitCodes"] == {"containerName": "model-server", "operator": "In", "values": [64]}
    assert server_job(parallelism=4, **VLLM)["spec"]["parallelism"] == 1


def test_kueue_queues_model_servers_like_workers():
    job = server_job(queue="team-a", suspend=True)
    assert job["spec"]["suspend"] is True
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"


def test_the_worker_of_a_judged_suite_leaves_the_gpu_to_the_model_server():
    judged = make_facts(loads_model=True, executes_plans=False)
    limits = [pod_of(worker_job(facts))["containers"][0]["resources"]["limits"] for facts in (None, judged)]
    assert ["nvidia.com/gpu" in one for one in limits] == [True, False]
    assert pod_of(server_job())["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in pod_of(server_job(model_gpus=0))["containers"][0]["resources"]["limits"]


def test_vllm_serves_what_a_receiver_took_offline():
    pod = pod_of(server_job(**VLLM, vllm_arguments="--max-model-len 4096"))
    (receiver,), (vllm,) = pod["initContainers"], pod["containers"]
    assert receiver["image"] == IMAGE
    assert parser().parse_args(receiver["command"][3:]).receive_only
    assert "nvidia.com/gpu" not in receiver["resources"]["limits"]
    assert vllm["image"] == VLLM_IMAGE
    assert vllm["command"][:3] == ["vllm", "serve", "/model"]
    assert vllm["command"][-2:] == ["--max-model-len", "4096"]
    assert "--trust-remote-code" not in vllm["command"]
    env = {one["name"]: one["value"] for one in vllm["env"]}
    assert env["HF_HUB_OFFLINE"] == env["VLLM_NO_USAGE_STATS"] == env["DO_NOT_TRACK"] == "1"
    (model,) = [mount for mount in vllm["volumeMounts"] if mount["name"] == "model"]
    assert model["readOnly"] is True


@pytest.mark.parametrize(
    "wrong",
    [{"model_engine": "vllm"}, {**VLLM, "model_server": "container"}, {"model_server": "worker"},
     {"model_engine": "tgi"}, {"model_memory": "much"}],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(wrong):
    with pytest.raises(SettingsError):
        make_settings(**wrong)


# --- In the worker's pod ----------------------------------------------------------------------------------------------


def test_a_model_server_in_the_worker_s_pod_has_its_own_user_and_none_of_the_worker_s_volumes():
    pod = pod_of(worker_job(model_server="container", weights_claim="weights"))
    (sidecar,), (worker,) = pod["initContainers"], pod["containers"]
    assert sidecar["restartPolicy"] == "Always"
    assert sidecar["securityContext"]["runAsUser"] not in {0, pod["securityContext"]["runAsUser"]}
    shared = {mount["name"] for mount in sidecar["volumeMounts"]} & {mount["name"] for mount in worker["volumeMounts"]}
    assert shared == {"model-socket"}
    (volume,) = [one for one in pod["volumes"] if one["name"] == "model-socket"]
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "1Mi"}
    for word in ("TOKEN", "SEED", "valueFrom", "envFrom", "API_URL"):
        assert word not in str(sidecar), word
    env = {one["name"]: one.get("value") for one in worker["env"]}
    assert env["PLANARENA_MODEL_SERVER"] == sidecar["command"][sidecar["command"].index("--listen") + 1]
    # Its group is the worker's, or the worker could not open the socket.
    assert sidecar["securityContext"]["runAsGroup"] == pod["securityContext"]["runAsGroup"]


def test_one_gpu_is_shared_by_a_claim():
    pod = pod_of(worker_job(model_server="container", gpu_claim="one-gpu"))
    assert pod["resourceClaims"] == [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["resources"]["claims"] == [{"name": "gpu"}]
        assert "nvidia.com/gpu" not in container["resources"]["limits"]
    command = pod["initContainers"][0]["command"]
    assert command[command.index("--device") + 1] == "cuda"
    assert sidecar_of()["command"][command.index("--device") + 1] == "cpu"


def test_a_worker_s_own_end_counts_and_not_that_of_the_server_beside_it():
    def ended(name, code):
        return {"name": name, "state": {"terminated": {"exitCode": code}}}

    status = {"phase": "Failed", "initContainerStatuses": [ended("model-server", 64)],
              "containerStatuses": [ended("worker", 2)]}  # fmt: skip
    assert assess_pod({"metadata": {}, "status": status}).reason is Reason.REFUSED


# --- The launcher -----------------------------------------------------------------------------------------------------


def launcher_of(api, cluster, *, loads_model=True, **settings):
    return KubernetesLauncher(
        client=api.client(), settings=make_settings(**settings), enrolments=FakeEnrolments(), now=lambda: cluster.now,
        facts=lambda evaluation: make_facts(evaluation_id=evaluation, loads_model=loads_model),
    )  # fmt: skip


def names_of(api, kind):
    return sorted(item["metadata"]["name"] for item in api.all(kind))


def test_model_servers_are_created_beside_the_job_and_only_once(api, cluster):
    launcher = launcher_of(api, cluster)
    for _ in range(3):
        assert launcher.ensure(evaluation_id=EVALUATION) == JOB
        cluster.tick()
    assert names_of(api, "jobs") == [JOB, MODELS]
    assert names_of(api, "services") == [MODELS]
    assert names_of(api, "networkpolicies") == [MODELS, f"{JOB}-workers"]
    uid = api.get("jobs", JOB)["metadata"]["uid"]
    for kind in ("services", "networkpolicies"):
        assert all(item["metadata"]["ownerReferences"][0]["uid"] == uid for item in api.all(kind))
    posts = [path for method, path in api.requests if method == "POST"]
    assert len(posts) == 6, "the Job and its token; two policies, a Service and a Job of the model servers"
    assert posts[-1].endswith("/jobs"), "before their policies no pod of theirs may be there"


def test_planners_without_a_submitted_model_have_none(api, cluster):
    launcher_of(api, cluster, loads_model=False).ensure(evaluation_id=EVALUATION)
    launcher_of(api, cluster, model_server="container").ensure(evaluation_id=OTHER)
    assert names_of(api, "services") == []
    assert all(not name.endswith("-models") for name in names_of(api, "jobs"))


@pytest.mark.parametrize("part", ["/services", "/networkpolicies", "/jobs"])
@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_launch_that_broke_off_is_completed_by_the_next(api, cluster, part, drop):
    launcher = launcher_of(api, cluster)
    api.faults.append(Fault(method="POST", part="/jobs", drop="after"))
    api.faults.extend([Fault(method="POST", part=part, drop=drop)] * 3)
    for _ in range(3):
        try:
            launcher.ensure(evaluation_id=EVALUATION)
        except LaunchError:
            api.faults.clear()
    assert names_of(api, "jobs") == [JOB, MODELS]
    assert names_of(api, "services") == [MODELS]
    assert len(names_of(api, "networkpolicies")) == 2


@pytest.mark.parametrize("created", [0, 1, 2, 3])
def test_a_launcher_killed_while_it_creates_them_is_followed_by_one_that_does(api, cluster, created):
    launcher_of(api, cluster).ensure(evaluation_id=EVALUATION)
    order = [("networkpolicies", MODELS), ("networkpolicies", f"{JOB}-workers"), ("services", MODELS), ("jobs", MODELS)]
    for kind, name in order[created:]:
        api.remove(kind, name)
    launcher_of(api, cluster).ensure(evaluation_id=EVALUATION)
    assert all(api.get(kind, name) is not None for kind, name in order)


def test_model_servers_go_with_the_job(api, cluster):
    launcher = launcher_of(api, cluster)
    handle = launcher.ensure(evaluation_id=EVALUATION)
    cluster.tick()
    launcher.stop(handle=handle)
    assert [names_of(api, kind) for kind in ("jobs", "pods", "services", "networkpolicies")] == [[]] * 4


def test_model_servers_of_workers_that_have_ended_are_stopped_at_the_next_sweep(api, cluster):
    launcher = launcher_of(api, cluster)
    launcher.ensure(evaluation_id=EVALUATION)
    launcher.ensure(evaluation_id=OTHER)
    cluster.tick()

    def fate(fake, pod):
        ended = pod["metadata"]["name"].startswith(JOB) and "-models" not in pod["metadata"]["name"]
        (exits(0) if ended else starts)(fake, pod)

    cluster.fate = fate
    cluster.later(60, ticks=2)
    assert launcher.stop_orphans(wanted=lambda found: found) == []
    # The ended Job stays for people to look at.
    assert names_of(api, "jobs") == [JOB, f"planarena-{OTHER}-g1", f"planarena-{OTHER}-g1-models"]


def test_a_server_that_has_served_a_worker_is_followed_by_a_fresh_one(api, cluster):
    launcher = launcher_of(api, cluster, parallelism=1)
    launcher.ensure(evaluation_id=EVALUATION)
    served = []

    def fate(fake, pod):
        if "-models" in pod["metadata"]["name"] and len(served) < 10:
            served.append(pod["metadata"]["name"])
            return exits(64)(fake, pod)
        return starts(fake, pod)

    cluster.fate = fate
    cluster.later(600, ticks=12)
    assert len(served) == 10
    running = [pod["metadata"]["name"] for pod in api.all("pods") if pod["status"]["phase"] == "Running"]
    assert sum("-models" in name for name in running) == 1


def test_a_refused_model_server_ends_the_launch_with_the_cluster_s_words(api, cluster):
    launcher = launcher_of(api, cluster)
    words = 'runtimeclass.node.k8s.io "gvisor" not found'
    api.faults.append(Fault(method="POST", part="/networkpolicies", status=403, message=words))
    api.faults.appendleft(Fault(method="POST", part="/jobs", delay=0.0))
    with pytest.raises(LaunchGivenUpError, match=r"The cluster refuses the model server \(403\): .*gvisor"):
        launcher.ensure(evaluation_id=EVALUATION)


@pytest.mark.parametrize("name", [MODELS, f"{MODELS}-abcde"])
def test_model_servers_are_nobody_s_handle(name):
    assert parse_handle(instance="planarena", handle=name) is None
