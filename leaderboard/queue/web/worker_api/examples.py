"""Examples of the contract's messages, by the names of their components."""

from typing import Any

from leaderboard.platform.api.examples import ATTEMPT_ID, DIGEST, EVALUATION_ID, EXAMPLE_SUITE, PLAN, describe

_LEASE_REQUEST = {"worker": "gpu-7", "suites": [EXAMPLE_SUITE], "evaluation": None, "token": "q" * 43}
_LEASE = {
    "attempt": ATTEMPT_ID, "token": "q" * 43, "expires_in": 60.0, "heartbeat_seconds": 10.0,
    "evaluation": EVALUATION_ID, "suite": EXAMPLE_SUITE, "suite_digest": DIGEST, "profile": "lilliput",
    "profile_digest": DIGEST, "split": "public", "samples": 8, "data_digest": DIGEST, "season": "",
    "commitment": "", "perturbation": "", "repetition": 1, "planner": {"kind": "bundled", "name": "gold"},
    "tasks": ["14", "15"], "needs_seed": False,
}  # fmt: skip
_RECORD_OF_WORKER = {
    "version": "result/1", "suite": EXAMPLE_SUITE, "task": "14", "request": "What is in the noisy picture?",
    "metric": "vit", "outcome": "scored", "score": 0.71, "plan": PLAN,
}  # fmt: skip
_LOG = {"first": 0, "lines": [{"at": 1772366400.0, "level": "INFO", "text": "task 14: scored 0.7100"}]}
_EXAMPLES: dict[str, Any] = {
    "WorkerSessionRequest": {"suites": [EXAMPLE_SUITE], "evaluation": None},
    "WorkerSession": {"token": "pas_" + "q" * 43, "expires_in": 3600.0},
    "WorkerLeaseRequest": _LEASE_REQUEST,
    "WorkerLease": _LEASE,
    "WorkerHeartbeat": {"phase": "planning"},
    "WorkerSeed": {"season": "2026-1", "seed": "(the seed)"},
    "WorkerSecretHeader": {"name": "Authorization", "value": "(the value)"},
    "WorkerDigestsRequest": {"digests": [DIGEST]},
    "WorkerDigestsMissing": {"missing": [DIGEST], "takes_uploads": True},
    "WorkerUploadsRequest": {"uploads": [{"digest": DIGEST, "size": 48_213, "media_type": "image/png"}]},
    "WorkerUploadsOffered": {
        "offered": [
            {
                "digest": DIGEST, "url": "https://s3.example.org/arena/site/public/objects/(the signed rest)",
                "headers": {"Content-Type": "image/png", "Content-Length": "48213", "x-amz-checksum-sha256": "(it)"},
            }
        ]
    },
    "WorkerBundleTaken": {"kept": 1, "refused": {DIGEST: "An artefact has at most 67108864 bytes."}},
    "WorkerResultsRequest": {"results": [_RECORD_OF_WORKER]},
    "WorkerResultsTaken": {"new": 1},
    "WorkerLogLines": _LOG,
    "WorkerLogTaken": {"next": 1, "cut": False},
    "WorkerFinishRequest": {
        "results": [_RECORD_OF_WORKER], "log": _LOG, "provenance": {"device": "cpu"}, "next": _LEASE_REQUEST,
    },
    "WorkerFinishAnswer": {"next": _LEASE},
    "WorkerTurnRequest": {
        "turn": {"key": f"{EVALUATION_ID}/14/0/1/joint", "task": "14", "request": "{}"}, "ended": None,
    },
    "WorkerTurnAnswer": {"response": '{"answer": "R1"}', "seconds": 4.2, "is_away": False, "is_silent": False},
    "WorkerFailRequest": {"how": "failed", "reason": "RuntimeError: out of memory"},
}  # fmt: skip

for _component, _example in _EXAMPLES.items():
    describe(_component, example=_example)
