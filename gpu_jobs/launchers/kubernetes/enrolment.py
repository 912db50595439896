"""The enrolment token of a Job's pods: a Secret of the Job's name, owned by the Job and deleted with it. Pure."""

from typing import Any

Json = dict[str, Any]

TOKEN_KEY = "token"  # noqa: S105 - the key in the Secret
VARIABLE = "PLANARENA_WORKER_TOKEN"


def build_secret(*, job: Json, token: str) -> Json:
    """The manifest of the Secret.

    Args:
        job: the Job as the cluster answered it, with its uid.
        token: the enrolment token that was minted for it.
    """
    metadata = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": dict(metadata.get("labels", {})),
            # The garbage collector deletes it with the Job, also with one whose time to live has passed.
            "ownerReferences": [owner],
        },
        "type": "Opaque",
        "immutable": True,
        "stringData": {TOKEN_KEY: token},
    }


def token_variable(*, job: str) -> Json:
    """The variable of the worker's container that holds the token. Its container waits until the Secret is there.

    Args:
        job: the Job's name.
    """
    return {"name": VARIABLE, "valueFrom": {"secretKeyRef": {"name": job, "key": TOKEN_KEY, "optional": False}}}
