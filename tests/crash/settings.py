"""Settings of the processes that are killed: those of the tests; database, broker and folders come after the fork."""

import os

from tests.settings import *  # noqa: F403

os.environ["PLANARENA_SUITES"] = "tests.evaluator.episodes.turns.toy"

LAUNCHER = "tests.crash.roles.launcher"
LEASE_SECONDS = 3
SWEEP_LEASE_SECONDS = 2
TASKS_PER_SHARD = 3
CELERY_TASK_IGNORE_RESULT = True
