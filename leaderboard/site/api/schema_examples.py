"""An example of each shape of the API, for its schema. A test checks every one against the shape that it is of."""

from typing import Any

PROBLEM_CONTENT_TYPE = "application/problem+json"

_SUBMISSION_ID = "0d6f2c1e-5b7a-4c39-9a51-6f0c8c6b2f10"
_EVALUATION_ID = "5e8c0a52-1d3f-47e6-b6a4-2f9b7f3c9d21"
_ATTEMPT_ID = "9b1d4f70-83c2-4f0e-8f57-0a6c1e2d3b44"
_ROW_ID = "3f2a9c84-60be-4d1b-9c77-51e8d0b7a6f5"
_DIGEST = "9b27625e462a" + "0" * 52
_WHEN, _LATER = "2026-03-01T12:00:00Z", "2026-03-01T12:09:30Z"

_PLANNER = {
    "name": "my-planner", "kind": "endpoint", "bundled_name": "", "endpoint_url": "https://example.org/plan",
    "timeout_seconds": 30, "description": "A fine-tuned model.", "model_id": "", "revision": "",
    "checkpoint_digest": "", "strategy": "", "model_name": "Qwen3-8B", "parameters": 8190735360, "open_weights": True,
    "prompt_price": 0.05, "completion_price": 0.2,
}  # fmt: skip
_PLANNER_OUTPUT = {
    **_PLANNER, "owner": "ada", "commit": "", "weights_bytes": None, "licence": "",
    "header": {"name": "Authorization", "ends_in": "ab12"}, "plans_digest": "",
}  # fmt: skip
_SUMMARY = {
    "metrics": {"overall": {"mean": 0.43, "low": 0.38, "high": 0.48, "tasks": 171}},
    "outcomes": {"scored": 165, "planner_fault": 6, "not_run": 14},
}
_EVALUATION = {
    "id": _EVALUATION_ID, "submission": _SUBMISSION_ID, "suite": "openagi", "suite_version": "1",
    "suite_digest": _DIGEST, "profile": "lilliput", "profile_digest": _DIGEST, "split": "public", "samples": 8,
    "planner": _PLANNER_OUTPUT, "state": "completed", "state_label": "Completed", "final": True,
    "reason": "published", "reason_text": "Completed and published.", "state_since": _LATER, "tasks_total": 185,
    "tasks_not_run": 14, "done": 185, "summary": _SUMMARY, "provenance": {"suite_digest": _DIGEST, "workers": []},
    "created": _WHEN, "finished": _LATER, "own_worker": False,
    "verified": None, "verifies": None, "team": "plan-lab", "visibility": "public", "embargo_until": None,
    "hidden": "", "rerun_of": None, "reruns": [],
    "url": f"https://planarena.example.org/evaluations/{_EVALUATION_ID}/",
}  # fmt: skip
_RESULT = {
    "task": "14", "metric": "vit", "outcome": "scored", "reason": "", "reason_text": "", "score": 0.71,
    "indicators": {}, "seconds": 1.8, "plan_summary": "Image Denoising, Image Classification", "accepted": False,
    "record_digest": _DIGEST,
}  # fmt: skip
_PLAN = {
    "steps": [{"id": "s1", "tool": "Image Denoising", "inputs": {"image": "$image"}, "outputs": {"image": "s1.image"}}],
    "answers": ["s1.image"],
}
_TEAM = {
    "slug": "plan-lab", "name": "Plan Lab", "created": _WHEN,
    "members": [{"username": "ada", "role": "owner", "joined": _WHEN}], "invited": ["bea"],
}  # fmt: skip
_DELIVERY = {
    "id": _ATTEMPT_ID, "event": "evaluation.completed", "state": "sent", "tries": 1, "created": _LATER,
    "available_at": _LATER, "sent_at": _LATER, "given_up_at": None, "last_error": "",
}  # fmt: skip
_ROW = {
    "rank": 1, "rank_low": 1, "rank_high": 2, "planner": "my-planner", "kind": "endpoint", "owner": "ada",
    "evaluation": _EVALUATION_ID, "finished": "2026-03-01T12:09:30+00:00", "samples": 8,
    "metrics": _SUMMARY["metrics"], "outcomes": _SUMMARY["outcomes"],
    "usage": {"seconds": 1.4, "prompt_tokens": 812.0, "completion_tokens": 64.0}, "model_name": "Qwen3-8B",
    "parameters": 8190735360, "open_weights": True,
    "cost": {"usd": 0.0000534, "prompt_price": 0.05, "completion_price": 0.2}, "declared": True,
}  # fmt: skip
_POINT = {"evaluation": _EVALUATION_ID, "planner": "my-planner", "owner": "ada", "score": 0.43}
_ENVELOPE = {
    "payloadType": "application/vnd.planarena.snapshot.v1+json", "payload": "eyJ0eXBlIjoicGxhbmFyZW5hL3NuYXBzaG90In0=",
    "signatures": [{"keyid": _DIGEST[:32], "sig": "MEUCIQ=="}],
}  # fmt: skip
_SNAPSHOT = {
    "suite": "openagi", "suite_version": "1", "number": 12, "digest": _DIGEST, "created": _LATER,
    "profile": "lilliput", "profile_digest": _DIGEST, "split": "public", "samples": 8,
    "url": "https://planarena.example.org/boards/openagi/snapshots/12/",
    "signature": _ENVELOPE,
}  # fmt: skip

_BOARD_RESULT = {
    "suite": "openagi", "planner": "my-planner", "evaluation": _EVALUATION_ID, "rank": 2, "planners": 14,
    "metric": "Overall", "value": {"mean": 0.43, "low": 0.38, "high": 0.48, "tasks": 171},
}  # fmt: skip
_PROFILE = {
    "display_name": "Ada L.", "affiliation": "University of Somewhere", "link": "https://example.org/ada",
    "bio": "Plans with small models.",
}  # fmt: skip
_LISTED_PLANNER = {"id": 7, **_PLANNER, "owner": "ada", "created": _WHEN, "evaluations": 3}

BY_COMPONENT: dict[str, Any] = {
    "AttemptOutput": {
        "id": _ATTEMPT_ID, "shard": 0, "number": 1, "worker": "worker-1", "state": "completed", "reason": "",
        "leased_at": _WHEN, "ended_at": _LATER, "cut": False,
        "lines": [{"at": _WHEN, "level": "INFO", "text": "asking the planner for 8 plans"}],
    },
    "BoardOutput": {
        "suite": "openagi", "number": 12, "digest": _DIGEST, "created": _LATER, "profile": "lilliput",
        "profile_digest": _DIGEST, "split": "public", "samples": 8,
        "content": {"rows": [], "coverage": {"run": 171, "total": 185}}, "reference": [],
    },
    "UploadInput": {"bytes": 712345},
    "UploadOutput": {
        "id": _ATTEMPT_ID, "url": f"https://arena.example/api/v1/uploads/{_ATTEMPT_ID}/",
        "secret": "pau_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG", "expires_at": _LATER,
    },
    "CheckpointInput": {"file": "(the bytes of the zip)"},
    "CheckpointOutput": {
        "digest": _DIGEST, "bytes": 712345, "architecture": "t5", "parameters": 176400, "weights_bytes": 705600,
        "created": _WHEN, "removed_at": "2026-03-02T12:00:00Z",
    },
    "ComparisonOutput": {
        "evaluations": [_EVALUATION_ID, _ATTEMPT_ID], "suite": "openagi", "suite_version": "1", "metric": "overall",
        "comparisons": [
            {
                "evaluation": _ATTEMPT_ID, "planner": "other-planner", "left_out": {"not_run": 14},
                "verdict": "B (other-planner) scores higher than A (my-planner) in Overall by 0.031 (0.011 to 0.052), "
                "p = 0.004, over 171 tasks.",
                "metrics": [
                    {
                        "metric": "overall", "higher_is_better": True, "tasks": 171, "first_mean": 0.43, "mean": 0.461,
                        "difference": 0.031, "low": 0.011, "high": 0.052, "p_value": 0.004, "p_adjusted": 0.004,
                        "wins": 44, "losses": 21, "ties": 106,
                    }
                ],
                "groups": [
                    {
                        "facet": "degradation", "value": "noise", "tasks": 80, "difference": 0.042, "wins": 25,
                        "losses": 9, "ties": 46,
                    }
                ],
            }
        ],
        "tasks": [{"task": "14", "values": [0.0, 0.93], "spread": 0.93}], "differing": 65,
    },
    "BoardRowsOutput": {
        "snapshot": 12, "coverage": {"run": 171, "total": 185}, "total": 34, "matching": 1, "next": None,
        "previous": None, "rows": [_ROW],
    },
    "BreakdownsOutput": {
        "scores": [
            {
                "facet": "degradation", "value": "noise", "tasks": 80, "mean": 0.41, "low": 0.33, "high": 0.49,
                "faults": 4,
            }
        ],
        "indicators": [],
    },
    "BundledPlannerOutput": {
        "name": "gold", "group": "Anchors", "description": "Answers with the gold plan.", "suites": [],
    },
    "EvaluationOutput": _EVALUATION,
    "FailureOutput": {
        "outcome": "planner_fault", "reason": "invalid_plan", "count": 6, "further": 0,
        "causes": [
            {"key": "9b27625e46", "count": 6, "sentence": "The plan calls an unknown tool.", "examples": ["14"]}
        ],
    },
    "EndpointTestInput": {
        "endpoint_url": "https://example.org/plan", "timeout_seconds": 30, "suite": "openagi",
        "header_name": "Authorization", "header_value": "Bearer " + "x" * 24,
    },
    "EndpointTestOutput": {
        "passed": True, "suite": "openagi", "task": "14", "request": {"version": "planner/1", "suite": "openagi"},
        "status": 200, "seconds": 0.42, "answer": '{"plan": "Image Denoising"}', "answer_bytes": 27, "reason": None,
        "problem": "", "plan": _PLAN, "tolerated": [], "problems": [], "example": None,
        "alternatives": 0,
    },
    "HeaderInput": {"name": "Authorization", "value": "Bearer " + "x" * 24},
    "HeaderOutput": {"name": "Authorization", "ends_in": "ab12"},
    "AccountExport": {
        "format": "planarena-account/1", "username": "ada", "exported_at": _WHEN,
        "account": {"email": "ada@example.org", "display_name": "Ada"},
        "api_tokens": [{"id": "pa_3f9c1b", "name": "nightly pipeline", "scopes": ["read", "submit"]}],
        "worker_tokens": [], "teams": [{"team": "plan-lab", "role": "owner"}], "planners": [], "submissions": [],
        "evaluations": [], "audit": [{"by": "ada", "at": _WHEN, "action": "token_made"}],
    },
    "PasswordInput": {"password": "correct horse battery staple"},
    "NewTokenOutput": {
        "id": "pa_3f9c1b", "name": "nightly pipeline", "token": "pa_" + "x" * 40, "expires": _LATER,
        "scopes": ["read", "submit"],
    },
    "NewWebhookOutput": {"id": _ROW_ID, "url": "https://example.org/hook", "secret": "whsec_" + "x" * 32},
    "NewWorkerTokenOutput": {"id": _ROW_ID, "name": "desktop", "token": "paw_" + "x" * 40},
    "MailsShape": {"mails": "ended"},
    "ListedPlannerOutput": _LISTED_PLANNER,
    "PatchedProfileInput": _PROFILE,
    "PlannerDetailOutput": {**_LISTED_PLANNER, "results": [_BOARD_RESULT]},
    "UserOutput": {
        "username": "ada", **_PROFILE, "joined": _WHEN, "evaluations": 3,
        "teams": [{"slug": "plan-lab", "name": "Plan Lab"}], "results": [_BOARD_RESULT],
    },
    "PatchedVisibilityInput": {"visibility": "embargo", "embargo_until": "2026-09-01T00:00:00Z"},
    "OthersOutput": {
        "count": 33, "better": 4, "equal": 1, "worse": 28, "unscored": 0,
        "best": [
            {
                "evaluation": _ATTEMPT_ID, "planner": "other-planner", "owner": "bea", "outcome": "scored",
                "score": 0.93, "plan": "Image Denoising, Image Classification",
            }
        ],
    },
    "PlaceOutput": {
        "place": 2, "evaluations_before": 1, "shards_before": 12, "waits_for": "turn",
        "why": "One evaluation is ahead.",
    },
    "PlotsOutput": {
        "suite": "openagi", "metric": "overall", "higher_is_better": True,
        "over_time": [{**_POINT, "finished": _LATER, "is_best": True}],
        "cost": [{**_POINT, "per_task": 0.00012, "on_front": True}], "seconds": [], "tokens": [],
        "groups": [
            {
                "facet": "degradations", "value": "Noise", "evaluation": _EVALUATION_ID, "planner": "my-planner",
                "mean": 0.41,
            }
        ],
    },
    "QueueOutput": {"evaluations": 3, "shards": 40, "leased": 2},
    "QuotaOutput": {"team": "", "suite": "openagi", "limit": 50, "used": 3, "free_at": "2026-03-02T00:00:00Z"},
    "StatusOutput": {
        "at": _LATER, "code": "running", "sentence": "All systems operational. Workers are processing the queue.",
        "shards": 12, "leased": 4, "standing": [{"state": "running", "evaluations": 2, "longest_seconds": 95.0}],
        "workers": 4, "last_lease": _LATER, "published": _WHEN,
    },
    "RecordOutput": {**_RESULT, "record": {"version": "result/1", "task": "14", "plan": _PLAN, "score": 0.71}},
    "ResultOutput": _RESULT,
    "SnapshotOutput": _SNAPSHOT,
    "SnapshotProofOutput": {
        "format": "planarena-snapshot-proof/1", "suite": "openagi", "number": 12, "digest": _DIGEST,
        "content": {"rows": [_ROW], "coverage": {"run": 171, "total": 185}}, "signature": _ENVELOPE,
        "rows": [{"evaluation": _EVALUATION_ID, "result": _DIGEST, "names": _DIGEST, "tasks": _DIGEST}],
        "salts": {_EVALUATION_ID: _DIGEST[:32]},
    },
    "EvaluationProofOutput": {
        "format": "planarena-evaluation-proof/1", "evaluation": _EVALUATION_ID, "signature": _ENVELOPE,
        "tasks": [
            {
                "task": "14", "metric": "ViT", "outcome": "scored", "accepted": False, "score": 0.93, "indicators": {},
                "seconds": 1.4, "prompt_tokens": 812, "completion_tokens": 64, "record": _DIGEST,
            }
        ],
        "salt": _DIGEST[:32], "records": {"14": _DIGEST},
    },
    "SubmissionInput": {
        "planner": {**_PLANNER, "header_name": "Authorization", "header_value": "Bearer " + "x" * 24},
        "suites": ["openagi"], "team": "plan-lab", "own_worker": False, "priority": "normal", "visibility": "public",
        "embargo_until": None,
    },
    "SubmissionOutput": {
        "id": _SUBMISSION_ID, "planner": _PLANNER_OUTPUT, "submitted_by": "ada", "team": "plan-lab",
        "created": _WHEN, "visibility": "public", "embargo_until": None, "rerun_of": None,
        "evaluations": [_EVALUATION],
    },
    "SuiteOutput": {
        "slug": "openagi", "version": "1", "digest": _DIGEST, "title": "OpenAGI",
        "conditions": {"experts": True, "samples": True, "splits": ["public", "validation", "hidden"]},
        "description": "Requests on images and texts whose plans are executed.",
        "metrics": [{"key": "overall", "label": "Overall", "higher_is_better": True}], "tasks": 185,
    },
    "TaskOutput": {
        "key": "14", "position": 14, "text": "Given a low-resolution image, how to return the regular image?",
        "structure": "linear", "metric": "vit", "attributes": {}, "gold": _PLAN,
    },
    "TeamInput": {"slug": "plan-lab", "name": "Plan Lab"},
    "TeamOutput": _TEAM,
    "TokenInput": {"name": "nightly pipeline", "days": 30, "scopes": ["read", "submit"]},
    "TokenOutput": {
        "id": "pa_3f9c1b", "name": "nightly pipeline", "created": _WHEN, "expires": _LATER, "last_used": None,
        "scopes": ["read", "submit"],
    },
    "UserNameInput": {"username": "bea"},
    "VerificationOutput": {
        "evaluation": _ROW_ID, "state": "completed", "tasks": ["14"], "verdict": "agrees",
        "detail": "1 of 1 tasks agree.", "ordered_by": None, "created": _WHEN, "settled_at": _LATER, "p_value": 1.0,
        "compared": [],
    },
    "WaitOutput": {
        "known": True, "begins_in_minutes": [2.1, 4.8], "ends_in_minutes": [9.5, 21.7], "measured_shards": 40,
        "in_words": "Begins in 2 to 5 minutes, ends in 9 to 22 minutes",
    },
    "WebhookInput": {"url": "https://example.org/hook"},
    "WebhookOutput": {
        "id": _ROW_ID, "url": "https://example.org/hook", "active": True, "created": _WHEN, "deliveries": [_DELIVERY],
    },
    "WholeSnapshotOutput": {**_SNAPSHOT, "content": {"rows": [_ROW], "coverage": {"run": 171, "total": 185}}},
    "WorkerTokenInput": {"name": "desktop"},
    "WorkerTokenOutput": {"id": _ROW_ID, "name": "desktop", "created": _WHEN, "last_used": None},
}  # fmt: skip

BY_PARAMETER: dict[str, Any] = {
    "evaluation_id": _EVALUATION_ID,
    "submission_id": _SUBMISSION_ID,
    "task_key": "14",
    "username": "bea",
    "webhook_id": _ROW_ID,
}

_LEASE_REQUEST = {"worker": "gpu-7", "suites": ["openagi"], "evaluation": None, "token": "q" * 43}
_LEASE = {
    "attempt": _ATTEMPT_ID, "token": "q" * 43, "expires_in": 60.0, "heartbeat_seconds": 10.0,
    "evaluation": _EVALUATION_ID, "suite": "openagi", "suite_digest": _DIGEST, "profile": "lilliput",
    "profile_digest": _DIGEST, "split": "public", "samples": 8, "planner": {"kind": "bundled", "name": "gold"},
    "tasks": ["14", "15"], "needs_seed": False,
}  # fmt: skip
_RECORD_OF_WORKER = {
    "version": "result/1", "suite": "openagi", "task": "14", "request": "What is in the noisy picture?",
    "metric": "vit", "outcome": "scored", "score": 0.71, "plan": _PLAN,
}  # fmt: skip
_LOG = {"first": 0, "lines": [{"at": 1772366400.0, "level": "INFO", "text": "task 14: scored 0.7100"}]}
BY_COMPONENT |= {
    "WorkerSessionRequest": {"suites": ["openagi"], "evaluation": None},
    "WorkerSession": {"token": "pas_" + "q" * 43, "expires_in": 3600.0},
    "WorkerLeaseRequest": _LEASE_REQUEST,
    "WorkerLease": _LEASE,
    "WorkerHeartbeat": {"phase": "planning"},
    "WorkerSeed": {"season": "2026-1", "seed": "(the seed)"},
    "WorkerSecretHeader": {"name": "Authorization", "value": "(the value)"},
    "WorkerDigestsRequest": {"digests": [_DIGEST]},
    "WorkerDigestsMissing": {"missing": [_DIGEST]},
    "WorkerBundleTaken": {"kept": 1, "refused": {_DIGEST: "An artefact has at most 67108864 bytes."}},
    "WorkerResultsRequest": {"results": [_RECORD_OF_WORKER]},
    "WorkerResultsTaken": {"new": 1},
    "WorkerLogLines": _LOG,
    "WorkerLogTaken": {"next": 1, "cut": False},
    "WorkerFinishRequest": {
        "results": [_RECORD_OF_WORKER], "log": _LOG, "provenance": {"device": "cpu"}, "next": _LEASE_REQUEST,
    },
    "WorkerFinishAnswer": {"next": _LEASE},
    "WorkerFailRequest": {"how": "failed", "reason": "RuntimeError: out of memory"},
}  # fmt: skip

PROBLEMS: dict[int, tuple[str, str, str]] = {
    400: ("invalid", "Bad Request", "planner.name: Give the planner a name."),
    401: ("not_authenticated", "Unauthorized", "Authentication credentials were not provided."),
    403: ("scope_missing", "Forbidden", "This needs a token with the scope 'submit'; yours has: read."),
    404: ("not_found", "Not Found", "Not found, or not visible to you."),
    409: ("not_possible", "Conflict", "The evaluation is 'completed': this is not possible any more."),
    413: ("too_large", "Request Entity Too Large", "The body is larger than 16777216 bytes."),
    415: ("unsupported_media_type", "Unsupported Media Type", 'Unsupported media type "text/plain" in request.'),
    422: ("idempotency_key_reused", "Unprocessable Entity", "The Idempotency-Key came before with another request."),
    429: ("throttled", "Too Many Requests", "Request was throttled. Expected available in 12 seconds."),
    503: ("not_ready", "Service Unavailable", "The site cannot evaluate at present."),
}
"""`code`, `title` and `detail` by status."""
