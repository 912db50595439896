"""Settings of the tests: those of the site, with a throw-away data folder, and the database set in `conftest.py`."""

import os
import tempfile
from pathlib import Path

_DATA = Path(tempfile.mkdtemp(prefix="planarena-tests-"))
(_DATA / "static").mkdir()

# Nothing of the developer's own installation may reach a test.
_OTHERS = {"DATABASE_URL", "BROKER_URL"}
for _name in [name for name in os.environ if name.startswith(("PLANARENA_", "OTEL_")) or name in _OTHERS]:
    del os.environ[_name]
os.environ.update(
    PLANARENA_DATA=str(_DATA),
    PLANARENA_SECRET_KEY="for tests only, not a secret at all",
    PLANARENA_WORKER_TOKEN="worker-token-of-the-tests",
    PLANARENA_SIGNING_KEY="signing key of the tests and no secret",
    PLANARENA_ALLOWED_HOSTS="testserver,127.0.0.1,localhost",
    PLANARENA_EMAIL_VERIFICATION="none",
    PLANARENA_HTTPS="0",
    PLANARENA_SAMPLES="8",
    PLANARENA_HIDDEN_SEED="5eed" * 16,
    PLANARENA_OPERATORS_NEED_2FA="0",
    PLANARENA_GITHUB_CLIENT_ID="client-of-the-tests",
    PLANARENA_GITHUB_SECRET="secret-of-the-tests",
    # Replaced by conftest.py when the first test needs a database: most tests need none.
    DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing",
)

from leaderboard.platform.settings import *  # noqa: E402, F403
from leaderboard.platform.settings import DATABASES, MIDDLEWARE, REST_FRAMEWORK, STORAGES  # noqa: E402

DATABASES["default"]["OPTIONS"].pop("pool")
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
MIDDLEWARE.insert(0, "tests.whitespace.join_lines")
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = dict.fromkeys(REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"])
API_READS_PER_MINUTE = {"reads": 0, "anonymous-reads": 0}
ACCOUNT_RATE_LIMITS = False
CELERY_TASK_ALWAYS_EAGER = False
CELERY_BROKER_URL = "memory://nowhere/"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {}
RUN_JOBS = False
EVALUATOR = "tests.fakes.evaluator.FakeEvaluator"
# Nothing listens there: a test that needs a model hub serves one.
HUB_URL = "http://127.0.0.1:9"
LAUNCHER = "tests.fakes.launcher.fake_launcher"
# A test changes rows and reads the page at once.
KEEP_PAGES_SECONDS = 0
KEEP_HEALTH_SECONDS = 0
# Or moves the time of leases, and asks whose turn it is.
FAIR_SHARE_RECOUNT_SECONDS = 0
FURTHER_RUNS = 0
"""Most tests complete an evaluation with its first run."""
VERIFY_TASKS = 20
"""Fewer than the suites of the tests have, so that a sample is one."""
