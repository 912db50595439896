"""Cache, Celery, and what it does when."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from leaderboard.platform.settings.base import DATA_DIR, DEMO, env

BROKER_URL = env.text("BROKER_URL", "filesystem://localhost//")
CACHE_URL = env.text("PLANARENA_CACHE_URL", BROKER_URL if BROKER_URL.startswith(("redis:", "rediss:")) else "")
"""Redis that all processes of the site share for limits on sign-ins and calls; empty: a table of the database."""
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
"""Never a cache of each process: limits on guessing passwords would count for each of them."""

SWEEP_SECONDS = 2 if DEMO else 15
SWEEP_LEASE_SECONDS = 10 if DEMO else 30
"""How long a sweep keeps others away after its process was killed, or after its last step of an evaluation began."""
CELERY_BROKER_URL = BROKER_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if CELERY_BROKER_URL.startswith("filesystem:"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA_DIR / "broker" / "messages"),
        "data_folder_out": str(DATA_DIR / "broker" / "messages"),
        "control_folder": str(DATA_DIR / "broker" / "control"),
        "store_processed": False,
        # Seconds; kombu's default of one is most of the time between submitting and the first step.
        "polling_interval": 0.05,
    }
elif CELERY_BROKER_URL.startswith(("redis:", "rediss:")):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        # Seconds until a message that was not acknowledged, since its process was killed, comes to another one. Longer
        # than a task and the one that a process has taken in advance may last together (`CELERY_TASK_TIME_LIMIT`), or
        # messages would come twice; kombu's default of an hour only means that the sweep is always faster.
        "visibility_timeout": 600,
        "socket_keepalive": True,
        # A Redis that accepts connections and does not answer fails like one that refuses them.
        "socket_connect_timeout": 5,
        "socket_timeout": 30,
        "health_check_interval": 30,
    }
# Celery's own way is to end the whole pool of connections before and after each task, so that each begins with a new
# connection and its empty caches: half of what the queue cost PostgreSQL. What `celery.py` does in its place is enough.
CELERY_DB_REUSE_MAX = 2**62
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 120
CELERY_TASK_SOFT_TIME_LIMIT = 108
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")


def _every(seconds: float, task: str, *, expires: float) -> dict[str, Any]:
    """A task of a room. One that waited for longer than `expires` seconds is superseded by the next."""
    return {"task": f"leaderboard.{task}", "schedule": timedelta(seconds=seconds), "options": {"expires": expires}}


CELERY_BEAT_SCHEDULE = {
    "sweep": _every(SWEEP_SECONDS, "queue.tasks.sweep", expires=SWEEP_SECONDS * 5),
    "release-embargoes": _every(SWEEP_SECONDS, "submissions.tasks.release_embargoes", expires=SWEEP_SECONDS * 5),
    "sign-what-is-unsigned": _every(SWEEP_SECONDS, "boards.signing.tasks.sign_unsigned", expires=SWEEP_SECONDS * 5),
    "measure-profiles": _every(60, "reliability.tasks.measure_profiles", expires=300),
    "send-messages": _every(SWEEP_SECONDS, "messages.tasks.dispatch", expires=SWEEP_SECONDS * 5),
    "prune-messages": _every(3600, "messages.tasks.prune", expires=3600),
    "remove-unused-checkpoints": _every(3600, "planners.tasks.remove_unused_checkpoints", expires=3600),
    "sweep-uploads": _every(600, "platform.uploads.tasks.sweep", expires=600),
    "remove-unconfirmed-accounts": _every(3600, "people.tasks.remove_unconfirmed_accounts", expires=3600),
    "finish-leaving": _every(60, "operations.leaving.tasks.finish_leaving", expires=300),
    "clear-expired-sessions": _every(6 * 3600, "people.tasks.clear_expired_sessions", expires=3600),
    "delete-old-rows": _every(6 * 3600, "operations.backups.tasks.delete_old_rows", expires=3600),
}
