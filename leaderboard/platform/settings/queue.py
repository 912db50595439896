"""Cache, Celery and its schedule."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from leaderboard.platform.settings.base import DATA_DIR, DEMO, env

BROKER_URL = env.text("BROKER_URL", "filesystem://localhost//")
CACHE_URL = env.text("PLANARENA_CACHE_URL", BROKER_URL if BROKER_URL.startswith(("redis:", "rediss:")) else "")
"""Redis for limits on sign-ins and calls, shared by all processes; empty: a table of the database."""
if CACHE_URL and not CACHE_URL.startswith(("redis://", "rediss://", "unix://")):
    raise ImproperlyConfigured(
        f"PLANARENA_CACHE_URL starts with {CACHE_URL[:12]!r}: it must be redis://host:port/number, or empty for "
        "PostgreSQL."
    )
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "leaderboard.platform.coordination.redis_cache.SharedRedisCache",
        "LOCATION": CACHE_URL,
        "KEY_PREFIX": "planarena",
        "OPTIONS": {
            "serializer": "leaderboard.platform.coordination.redis_cache.JsonSerializer",
            "socket_timeout": 2,
            "socket_connect_timeout": 2,
        },
    }
    if CACHE_URL
    else {"BACKEND": "leaderboard.platform.coordination.cache.PostgresCache"}
}
"""Never a per-process cache, which would multiply limits on password guessing."""

SWEEP_SECONDS = 2 if DEMO else 15
SWEEP_LEASE_SECONDS = 10 if DEMO else 30
"""Duration of a sweep's lease, which is renewed before each step of an evaluation."""
CELERY_BROKER_URL = BROKER_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if CELERY_BROKER_URL.startswith("filesystem:"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA_DIR / "broker" / "messages"),
        "data_folder_out": str(DATA_DIR / "broker" / "messages"),
        "control_folder": str(DATA_DIR / "broker" / "control"),
        "store_processed": False,
        # In seconds; kombu's default of 1 would dominate the time from submission to the first step.
        "polling_interval": 0.05,
    }
elif CELERY_BROKER_URL.startswith(("redis:", "rediss:")):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        # In seconds, until an unacknowledged message of a killed process is redelivered. Longer than a task and a
        # prefetched one may take together (`CELERY_TASK_TIME_LIMIT`), or messages would be delivered twice; with
        # kombu's default of an hour, the sweep would always be faster.
        "visibility_timeout": 600,
        "socket_keepalive": True,
        # Treat a Redis that accepts connections but does not respond like one that refuses them.
        "socket_connect_timeout": 5,
        "socket_timeout": 30,
        "health_check_interval": 30,
    }
# By default, Celery closes the whole connection pool before and after each task, so that each task starts with a new
# connection and empty caches: half of the queue's load on PostgreSQL. `celery.py` returns connections instead.
CELERY_DB_REUSE_MAX = 2**62
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 120
CELERY_TASK_SOFT_TIME_LIMIT = 108
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Otherwise a task that ends while the broker is away is acknowledged on a connection that is gone, by which the whole
# worker ends. Its message comes again.
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")


def _every(seconds: float, task: str, *, expires: float) -> dict[str, Any]:
    """A task of a room. Messages older than `expires` seconds are dropped, since the next one supersedes them."""
    return {"task": f"leaderboard.{task}", "schedule": timedelta(seconds=seconds), "options": {"expires": expires}}


CELERY_BEAT_SCHEDULE = {
    "sweep": _every(SWEEP_SECONDS, "queue.tasks.sweep", expires=SWEEP_SECONDS * 5),
    "release-embargoes": _every(SWEEP_SECONDS, "submissions.tasks.release_embargoes", expires=SWEEP_SECONDS * 5),
    "sign-what-is-unsigned": _every(SWEEP_SECONDS, "boards.signing.tasks.sign_unsigned", expires=SWEEP_SECONDS * 5),
    "sweep-workbench": _every(SWEEP_SECONDS, "workbench.tasks.sweep", expires=SWEEP_SECONDS * 5),
    "forget-runs": _every(6 * 3600, "workbench.tasks.forget_old", expires=3600),
    "close-pairs": _every(300, "votes.tasks.close_pairs", expires=300),
    "measure-profiles": _every(60, "reliability.tasks.measure_profiles", expires=300),
    "send-messages": _every(SWEEP_SECONDS, "messages.tasks.dispatch", expires=SWEEP_SECONDS * 5),
    "prune-messages": _every(3600, "messages.tasks.prune", expires=3600),
    "remove-unused-checkpoints": _every(3600, "planners.tasks.remove_unused_checkpoints", expires=3600),
    "sweep-uploads": _every(600, "platform.uploads.tasks.sweep", expires=600),
    "remove-unconfirmed-accounts": _every(3600, "people.tasks.remove_unconfirmed_accounts", expires=3600),
    "check-status": _every(60, "operations.monitoring.tasks.check_status", expires=60),
    "finish-leaving": _every(60, "operations.leaving.tasks.finish_leaving", expires=300),
    "clear-expired-sessions": _every(6 * 3600, "people.tasks.clear_expired_sessions", expires=3600),
    "delete-old-rows": _every(6 * 3600, "operations.backups.tasks.delete_old_rows", expires=3600),
}
