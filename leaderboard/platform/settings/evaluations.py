"""Evaluations: data, workers, limits, quotas and uploads; monitoring."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from evaluator.core.signatures.envelope import KeyFormatError
from evaluator.execution.experts.signed_locks import trusted_keys
from evaluator.network.egress_policy import EgressPolicyError, egress_policy
from evaluator.scoring.arbiters.base import ArbiterError, arbiter_from
from evaluator.scoring.rating import RaterError, configured_rater
from gpu_jobs.launchers.pools import VARIABLE, PoolsError, pools_from
from leaderboard.platform.environment import is_contact, origin_of, upload_folder
from leaderboard.platform.settings.base import DATA_DIR, DEMO, STORE_ORIGIN, STORE_URL, env, keys

EVALUATOR = env.text("PLANARENA_EVALUATOR", "leaderboard.catalog.library.Library")
"""Class that provides the `evaluator` package; tests use a fake."""
LAUNCHER = env.text("PLANARENA_LAUNCHER", "leaderboard.queue.launching.local_launcher")
"""Function that returns the launcher of workers. Alternatives are `kubernetes_launcher`, and `no_launcher` if the
operator starts workers."""
RUN_JOBS = True
"""Whether web processes run users' jobs; tests run them explicitly."""
try:
    EGRESS = egress_policy(os.environ)
    """Ports and proxy of calls to external servers (PLANARENA_EGRESS_PORTS, PLANARENA_EGRESS_PROXY)."""
except EgressPolicyError as error:
    raise ImproperlyConfigured(f"{error}.") from None
try:
    LOCK_KEYS = trusted_keys(env.text("PLANARENA_LOCK_KEYS"))
    """Public keys, by id, of the operators who vouch for the checkpoints of profiles (`catalog/locks.py`)."""
except KeyFormatError as error:
    raise ImproperlyConfigured(f"PLANARENA_LOCK_KEYS: {error}.") from None
try:
    ARBITER = arbiter_from(os.environ)
    """Settles pairs that rules and network of the judges leave undecided, or None. Workers must use the same one."""
    configured_rater()
except (ArbiterError, RaterError) as error:
    raise ImproperlyConfigured(f"{error}.") from None
try:
    WORKER_POOLS = pools_from(env.text(VARIABLE))
    """Worker pools on Kubernetes (`queue/pools`); empty if workers are processes of this machine."""
except PoolsError as error:
    raise ImproperlyConfigured(f"{error}.") from None
API_URL = env.text("PLANARENA_API_URL", "http://127.0.0.1:8000")
"""URL at which workers of this installation reach the API."""
KEEP_PAGES_SECONDS = 1.0
"""Lifetime of cached boards and start pages for anonymous readers; 0: no caching."""
KEEP_HEALTH_SECONDS = 5.0
"""Lifetime of the cached health of the site on pages; 0: no caching."""
SITE_URL = env.text("PLANARENA_SITE_URL").rstrip("/")
"""Public URL of the site, for links in emails; without it, emails have no links."""
if STORE_ORIGIN and origin_of(SITE_URL) == STORE_ORIGIN:
    raise ImproperlyConfigured(
        "PLANARENA_S3_PUBLIC_ENDPOINT must have another host name than PLANARENA_SITE_URL: content of the bucket must "
        "not share the site's origin."
    )
OPERATOR = env.text("PLANARENA_OPERATOR")
"""Name of the site's operator on its privacy page."""
CONTACT = env.text("PLANARENA_CONTACT")
"""An email address or URL for privacy questions and vulnerability reports."""
if not is_contact(CONTACT):
    raise ImproperlyConfigured(
        "PLANARENA_CONTACT must be an email address or start with https://, such as security@arena.example."
    )
LEGAL = env.text("PLANARENA_LEGAL")
"""Legal notice of the operator on the trust page: a line, or an `https://` address."""
CONFLICTS = env.text("PLANARENA_CONFLICTS")
"""The operator's interests in ranked planners, as a sentence on the trust page."""
APPEAL_DAYS = env.integer("PLANARENA_APPEAL_DAYS", default=0)
"""Days within which the operator answers who contests a row; 0: not declared."""
MAIL_OWNERS = env.flag("PLANARENA_MAIL_OWNERS", default=not DEMO)
"""Whether owners get an email when an evaluation waits for them or failed."""
LOCAL_WORKERS = env.integer("PLANARENA_LOCAL_WORKERS", default=1, least=1)
LOCAL_RUN_WORKERS = env.integer("PLANARENA_LOCAL_RUN_WORKERS", default=1 if DEMO else 0, least=0)
"""Workers that the local launcher keeps for the workbench alone."""
LOCAL_WORKER_MEMORY = env.size("PLANARENA_LOCAL_WORKER_MEMORY") if env.text("PLANARENA_LOCAL_WORKER_MEMORY") else None
"""Memory limit in bytes of a worker started by the local launcher; 0: no limit; None: its share of the machine."""
LOCAL_WORKER_SECONDS = env.integer("PLANARENA_LOCAL_WORKER_SECONDS", default=43_200, least=0)
"""Age at which a local worker is replaced; 0: never."""
STORE_DIR = (DATA_DIR / "store" if STORE_URL else Path(env.text("PLANARENA_STORE", str(DATA_DIR / "store")))).resolve()
"""Folder of uploaded checkpoints, and of artefacts and records if there is no bucket."""
PROFILE = env.text("PLANARENA_PROFILE", "lilliput")
SPLIT = env.text("PLANARENA_SPLIT", "public")
HIDDEN_SEED = keys.hidden_seed
"""The master secret of hidden data. Workers never get it, only the seed derived for a season and suite
(`catalog/hidden_data.py`)."""
SAMPLES = env.integer("PLANARENA_SAMPLES", default=12 if DEMO else 32, least=1)
"""Scenes on which each plan is executed. Intervals need at least ten."""
TASKS_PER_SHARD = env.integer("PLANARENA_TASKS_PER_SHARD", default=8, least=1)
PLANNING_TASKS_PER_SHARD = env.integer("PLANARENA_PLANNING_TASKS_PER_SHARD", default=100, least=1)
"""For suites that judge plans, which takes milliseconds per plan."""
CANARY_TASKS = env.integer("PLANARENA_CANARY_TASKS", default=1, least=0)
"""Tasks of a planner behind HTTP that run first, to check that it responds; 0: none."""
FAIR_SHARE_SECONDS = env.integer("PLANARENA_FAIR_SHARE_SECONDS", default=600, least=0)
"""Period over which leases count towards a user's share of the workers."""
FAIR_SHARE_RECOUNT_SECONDS = 2
"""Lifetime of a process's cached count of older leases (`queue/leasing/turns.py`); 0: it keeps none."""
SLICE_SECONDS = env.integer("PLANARENA_SLICE_SECONDS", default=10, least=0)
"""Time slice of a submitted planner on a worker while other users' work waits
(`queue/leasing/time_slices.py`); 0: as long as its deadlines allow."""
FURTHER_RUNS = env.integer("PLANARENA_FURTHER_RUNS", default=2, least=0)
"""How often a planner is asked again for a random tenth of the tasks before an evaluation completes; 0: never, and
boards say that rows have one run."""
DEVICE = env.text("PLANARENA_DEVICE", "cpu")
"""Torch device of this installation's workers, whose boards come first; boards of other devices are apart."""
VERIFY_TASKS = env.integer("PLANARENA_VERIFY_TASKS", default=60, least=1)
"""Tasks of an evaluation on a self-hosted worker that a worker of the site repeats before it is ranked."""
SHARD_TRIES = env.integer("PLANARENA_SHARD_TRIES", default=5, least=1)
LOST_WORKERS = env.integer("PLANARENA_LOST_WORKERS", default=8, least=1)
"""Lost workers after which an evaluation stops and waits for its owner."""
PREPARE_SECONDS = env.integer("PLANARENA_PREPARE_SECONDS", default=300, least=1)
"""Time limit for preparing tasks without progress; also added to the limits of planning and executing."""
FETCH_SECONDS = env.integer("PLANARENA_FETCH_SECONDS", default=3600, least=1)
"""Time limit for downloading a planner's model."""
LOAD_SECONDS = env.integer("PLANARENA_LOAD_SECONDS", default=900, least=1)
"""Time limit for loading the model into memory."""
PLAN_SECONDS = env.integer("PLANARENA_PLAN_SECONDS", default=60, least=1)
"""Time limit per task of a shard for planning without a new result; for planners behind HTTP at least the duration of
all tries of one call."""
AGENT_PRESENT_SECONDS = env.integer("PLANARENA_AGENT_PRESENT_SECONDS", default=120, least=1)
"""Time without calls of `/mcp/` after which an agent is away: its evaluation gets no worker until it calls again."""
AGENT_SILENCE_SECONDS = env.integer("PLANARENA_AGENT_SILENCE_SECONDS", default=4 * 3600, least=1)
"""Time without a call after which an agent's task times out."""
EXECUTE_SECONDS = env.integer("PLANARENA_EXECUTE_SECONDS", default=300, least=1)
"""Time limit per task of a shard for executing plans without a new result."""
LEASE_SECONDS = env.integer("PLANARENA_LEASE_SECONDS", default=60, least=3)
RUNS_PER_DAY = env.integer("PLANARENA_RUNS_PER_DAY", default=2000 if DEMO else 200, least=0)
"""Most requests to the workbench of a user within a day; of a stranger's address a quarter of it."""
RUNS_AT_ONCE = env.integer("PLANARENA_RUNS_AT_ONCE", default=4, least=1)
"""Most unfinished requests to the workbench of a user or a stranger's address."""
WORKBENCH_IS_OPEN = env.flag("PLANARENA_WORKBENCH_IS_OPEN", default=DEMO)
"""Whether strangers may use the workbench without an account."""
QUOTA_PER_SUITE_AND_DAY = env.integer("PLANARENA_QUOTA_PER_SUITE_AND_DAY", default=0 if DEMO else 50, least=0)
"""Evaluations of one suite that a user may submit per day (UTC); 0: unlimited."""
QUOTA_PER_DAY = env.integer("PLANARENA_QUOTA_PER_DAY", default=0 if DEMO else 100, least=0)
"""Evaluations of all suites that a user may submit per day; 0: unlimited."""
TEAM_QUOTA_PER_SUITE_AND_DAY = env.integer(
    "PLANARENA_TEAM_QUOTA_PER_SUITE_AND_DAY", default=0 if DEMO else 100, least=0
)
"""Evaluations of one suite that all members may submit for a team per day; 0: unlimited."""
TEAM_QUOTA_PER_DAY = env.integer("PLANARENA_TEAM_QUOTA_PER_DAY", default=0 if DEMO else 200, least=0)
"""Evaluations of all suites that all members may submit for a team per day; 0: unlimited."""
QUOTA_PER_PLANNER_AND_SEASON = env.integer("PLANARENA_QUOTA_PER_PLANNER_AND_SEASON", default=0 if DEMO else 5, least=0)
"""Evaluations of one suite that a planner may have on the hidden data of one season; 0: unlimited."""
BOARD_POLICY = env.choice("PLANARENA_BOARD_POLICY", default="latest", choices=("latest", "mean"))
"""What a board's row shows of several runs of one planner (`boards/policy.py`)."""
DOIS = env.dois("PLANARENA_DOI")
"""DOIs for citations by suite; that of the site has an empty key."""
REWARD_SECONDS_PER_DAY = env.integer("PLANARENA_REWARD_SECONDS_PER_DAY", default=0 if DEMO else 3600, least=0)
"""Execution time of a user's plans for rewards per day (UTC), in seconds; 0: unlimited."""
HEARTBEAT_SECONDS = env.integer("PLANARENA_HEARTBEAT_SECONDS", default=10, least=1)
"""Interval of workers' heartbeats; at most a quarter of a lease."""
MAX_OBJECT_BYTES = env.integer("PLANARENA_MAX_OBJECT_BYTES", default=32 * 1024 * 1024, least=1024)
MAX_OWN_WORKER_BYTES = env.size("PLANARENA_MAX_OWN_WORKER_UPLOAD") or 4 * 1024**3
"""Total size of the artefacts of one evaluation on a self-hosted worker."""
MAX_LOG_CHARACTERS = env.integer("PLANARENA_MAX_LOG_CHARACTERS", default=256 * 1024, least=1000)
"""Maximum length of an attempt's log; the rest is dropped with a note."""
HUB_URL = (env.text("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
"""The model hub of submitted language models. Workers download from it too, with the same `HF_ENDPOINT`."""
GPU_MEMORY_GB = env.integer("PLANARENA_GPU_MEMORY_GB", default=0)
"""Memory of a worker's GPU, into which submitted language models must fit; 0: as the operators' workers report it."""
MAX_CHECKPOINT_BYTES = env.size("PLANARENA_MAX_CHECKPOINT") or 4 * 1024**3
"""Maximum size of a checkpoint's zip file; unpacked it may be twice as large."""
UNUSED_CHECKPOINTS = 5
"""Maximum number of a user's uploaded checkpoints that are not submitted."""
UNUSED_CHECKPOINT_HOURS = 24
"""Age at which a checkpoint that is not submitted is deleted."""
UPLOADS_DIR = Path(env.text("PLANARENA_UPLOADS", str(DATA_DIR / "uploads"))).resolve()
"""Folder of uploads until they are validated. If it is on the volume of the store, they are moved without copying."""
UPLOADS_QUOTA = env.size("PLANARENA_UPLOADS_QUOTA") or 4 * MAX_CHECKPOINT_BYTES
"""Total size of uploads in progress, in bytes."""
DISK_RESERVE_BYTES = env.size("PLANARENA_DISK_RESERVE") or 16_000_000
"""Free space in bytes below which a disk counts as full: one segment of PostgreSQL's write-ahead log."""
KEEP_ATTEMPT_DAYS = env.integer("PLANARENA_KEEP_ATTEMPT_DAYS", default=90, least=1)
"""Retention of logs and attempts without results, after the end of an evaluation that was never ranked."""
GARBAGE_GRACE_HOURS = env.integer("PLANARENA_GARBAGE_GRACE_HOURS", default=168, least=1)
"""Retention of unreferenced objects after their last use, since results that refer to them may be in transit."""
COLLECT_ROWS = env.flag("PLANARENA_COLLECT_ROWS", default=False)
"""Whether Celery's beat deletes rows past their retention; `collect_garbage` always does."""
FILE_UPLOAD_TEMP_DIR = upload_folder(UPLOADS_DIR)
FILE_UPLOAD_HANDLERS = ["leaderboard.planners.checkpoints.BoundedUpload"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

METRICS_TOKEN = env.text("PLANARENA_METRICS_TOKEN")
"""Token with which Prometheus reads `/metrics`; without it, the page exists only in demo mode for this machine."""
if METRICS_TOKEN and len(METRICS_TOKEN) < 20:
    raise ImproperlyConfigured("PLANARENA_METRICS_TOKEN is too short: use at least 20 random characters.")
