"""Evaluations: data, workers, limits, quotas and uploads; monitoring."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from evaluator.network.egress_policy import EgressPolicyError, egress_policy
from evaluator.scoring.arbiters.base import ArbiterError, arbiter_from
from gpu_jobs.launchers.pools import VARIABLE, PoolsError, pools_from
from leaderboard.platform.environment import is_contact, origin_of, upload_folder
from leaderboard.platform.settings.base import DATA_DIR, DEMO, STORE_ORIGIN, STORE_URL, env, keys

EVALUATOR = env.text("PLANARENA_EVALUATOR", "leaderboard.catalog.library.Library")
"""Class that gives access to the `evaluator` package; tests name a fake."""
LAUNCHER = env.text("PLANARENA_LAUNCHER", "leaderboard.queue.launching.local_launcher")
"""Function that returns the launcher of workers; beside it are `kubernetes_launcher`, and `no_launcher` if the operator
starts workers."""
RUN_JOBS = True
"""Whether this process runs users' jobs once it serves the site; tests run them themselves."""
try:
    EGRESS = egress_policy(os.environ)
    """Ports and proxy of calls to other people's servers (PLANARENA_EGRESS_PORTS, PLANARENA_EGRESS_PROXY)."""
except EgressPolicyError as error:
    raise ImproperlyConfigured(f"{error}.") from None
try:
    ARBITER = arbiter_from(os.environ)
    """Settles what the rules of judges leave undecided; None: nobody does. Workers must name the same one."""
except ArbiterError as error:
    raise ImproperlyConfigured(f"{error}.") from None
try:
    WORKER_POOLS = pools_from(env.text(VARIABLE))
    """Worker pools on Kubernetes (`queue/pools`); none where workers are processes of this machine."""
except PoolsError as error:
    raise ImproperlyConfigured(f"{error}.") from None
API_URL = env.text("PLANARENA_API_URL", "http://127.0.0.1:8000")
"""Where workers that this installation starts reach the API."""
KEEP_PAGES_SECONDS = 1.0
"""For so long boards and the start page are served to strangers from memory; 0: never."""
KEEP_HEALTH_SECONDS = 5.0
"""For so long pages show what was wrong with the site when it was last looked at; 0: they look each time."""
SITE_URL = env.text("PLANARENA_SITE_URL").rstrip("/")
"""Where people reach the site; begins the links in mails. Mails have none if it is empty."""
if STORE_ORIGIN and origin_of(SITE_URL) == STORE_ORIGIN:
    raise ImproperlyConfigured(
        "PLANARENA_S3_PUBLIC_ENDPOINT must have another host name than PLANARENA_SITE_URL: what a browser opens in the "
        "bucket must not count as the site's."
    )
OPERATOR = env.text("PLANARENA_OPERATOR")
"""Who runs this site, as its privacy page names them."""
CONTACT = env.text("PLANARENA_CONTACT")
"""An e-mail address, or the address of a page, for questions about privacy and reports of vulnerabilities."""
if not is_contact(CONTACT):
    raise ImproperlyConfigured(
        "PLANARENA_CONTACT must be an e-mail address or begin with https://, such as security@arena.example."
    )
MAIL_OWNERS = env.flag("PLANARENA_MAIL_OWNERS", default=not DEMO)
"""Whether owners get a mail when an evaluation waits for them or failed."""
LOCAL_WORKERS = env.integer("PLANARENA_LOCAL_WORKERS", default=1, least=1)
LOCAL_WORKER_MEMORY = env.size("PLANARENA_LOCAL_WORKER_MEMORY") if env.text("PLANARENA_LOCAL_WORKER_MEMORY") else None
"""Bytes that a worker which the local launcher starts may use before it is killed; 0: no limit; None: its share of the
machine."""
LOCAL_WORKER_SECONDS = env.integer("PLANARENA_LOCAL_WORKER_SECONDS", default=43_200, least=0)
"""A worker is stopped and replaced after this time; 0: never."""
STORE_DIR = (DATA_DIR / "store" if STORE_URL else Path(env.text("PLANARENA_STORE", str(DATA_DIR / "store")))).resolve()
"""Uploaded checkpoints, and without a bucket artefacts and records."""
PROFILE = env.text("PLANARENA_PROFILE", "lilliput")
SPLIT = env.text("PLANARENA_SPLIT", "public")
HIDDEN_SEED = keys.hidden_seed
"""The master secret of hidden data. Workers never get it: they get the seed of one season and suite, derived from it
(`catalog/hidden_data.py`)."""
SAMPLES = env.integer("PLANARENA_SAMPLES", default=12 if DEMO else 32, least=1)
"""Scenes that each plan is executed on. Intervals need ten; the demo is fast instead."""
TASKS_PER_SHARD = env.integer("PLANARENA_TASKS_PER_SHARD", default=8, least=1)
PLANNING_TASKS_PER_SHARD = env.integer("PLANARENA_PLANNING_TASKS_PER_SHARD", default=100, least=1)
"""For suites that judge plans: judging one takes milliseconds."""
CANARY_TASKS = env.integer("PLANARENA_CANARY_TASKS", default=1, least=0)
"""Tasks of a planner behind HTTP that run before the others, to see that it answers at all; 0: none."""
FAIR_SHARE_SECONDS = env.integer("PLANARENA_FAIR_SHARE_SECONDS", default=600, least=0)
"""Leases of so long ago still count towards a user's share of the workers."""
FAIR_SHARE_RECOUNT_SECONDS = 2
"""For so long a process keeps its count of older leases (`queue/leasing/turns.py`); 0: it keeps none."""
SLICE_SECONDS = env.integer("PLANARENA_SLICE_SECONDS", default=10, least=0)
"""For so long a submitted planner may keep a worker while other users' work waits
(`queue/leasing/time_slices.py`); 0: as long as its deadlines allow."""
VERIFY_TASKS = env.integer("PLANARENA_VERIFY_TASKS", default=60, least=1)
"""Tasks of an evaluation on its owner's own worker that a worker of the operator's runs again before it is ranked."""
SHARD_TRIES = env.integer("PLANARENA_SHARD_TRIES", default=5, least=1)
LOST_WORKERS = env.integer("PLANARENA_LOST_WORKERS", default=8, least=1)
"""Workers that one evaluation may lose before it stops and waits for its owner."""
PREPARE_SECONDS = env.integer("PLANARENA_PREPARE_SECONDS", default=300, least=1)
"""For so long a worker may prepare its tasks without any progress; added to the time of planning and executing too."""
FETCH_SECONDS = env.integer("PLANARENA_FETCH_SECONDS", default=3600, least=1)
"""For so long it may download a planner's model."""
LOAD_SECONDS = env.integer("PLANARENA_LOAD_SECONDS", default=900, least=1)
"""For so long it may load that model into memory."""
PLAN_SECONDS = env.integer("PLANARENA_PLAN_SECONDS", default=60, least=1)
"""For so long per task of a shard it may ask the planner without a new result; for planners behind HTTP at least as
long as all tries of one call may take."""
AGENT_PRESENT_SECONDS = env.integer("PLANARENA_AGENT_PRESENT_SECONDS", default=120, least=1)
"""An agent that has not called `/mcp/` for so long is away: its evaluation gets no worker until it calls again."""
AGENT_SILENCE_SECONDS = env.integer("PLANARENA_AGENT_SILENCE_SECONDS", default=4 * 3600, least=1)
"""For so long an agent may keep a task without a call; then it has given no answer in time."""
EXECUTE_SECONDS = env.integer("PLANARENA_EXECUTE_SECONDS", default=300, least=1)
"""For so long per task of a shard it may execute plans without a new result."""
LEASE_SECONDS = env.integer("PLANARENA_LEASE_SECONDS", default=60, least=3)
QUOTA_PER_SUITE_AND_DAY = env.integer("PLANARENA_QUOTA_PER_SUITE_AND_DAY", default=0 if DEMO else 50, least=0)
"""Evaluations of one suite that a user may submit in a day (UTC); 0: any number."""
QUOTA_PER_DAY = env.integer("PLANARENA_QUOTA_PER_DAY", default=0 if DEMO else 100, least=0)
"""The same of all suites together."""
TEAM_QUOTA_PER_SUITE_AND_DAY = env.integer(
    "PLANARENA_TEAM_QUOTA_PER_SUITE_AND_DAY", default=0 if DEMO else 100, least=0
)
"""Evaluations of one suite that may be submitted for a team in a day, by all its members together; 0: any number."""
TEAM_QUOTA_PER_DAY = env.integer("PLANARENA_TEAM_QUOTA_PER_DAY", default=0 if DEMO else 200, least=0)
"""The same of all suites together."""
QUOTA_PER_PLANNER_AND_SEASON = env.integer("PLANARENA_QUOTA_PER_PLANNER_AND_SEASON", default=0 if DEMO else 5, least=0)
"""Evaluations of one suite that a planner may have on the hidden data of one season; 0: any number."""
BOARD_POLICY = env.choice("PLANARENA_BOARD_POLICY", default="latest", choices=("latest", "mean"))
"""What a board's row shows of several runs of one planner (`boards/policy.py`)."""
REWARD_SECONDS_PER_DAY = env.integer("PLANARENA_REWARD_SECONDS_PER_DAY", default=0 if DEMO else 3600, least=0)
"""Seconds for which a user's plans are executed for rewards in a day (UTC); 0: any number."""
HEARTBEAT_SECONDS = env.integer("PLANARENA_HEARTBEAT_SECONDS", default=10, least=1)
"""How often workers say that they live; never less often than four times in a lease."""
MAX_OBJECT_BYTES = env.integer("PLANARENA_MAX_OBJECT_BYTES", default=32 * 1024 * 1024, least=1024)
MAX_OWN_WORKER_BYTES = env.size("PLANARENA_MAX_OWN_WORKER_UPLOAD") or 4 * 1024**3
"""Of the artefacts of one evaluation that a researcher's own worker sends."""
MAX_LOG_CHARACTERS = env.integer("PLANARENA_MAX_LOG_CHARACTERS", default=256 * 1024, least=1000)
"""Of one attempt's log; what comes after it is dropped, and the log says so."""
HUB_URL = (env.text("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
"""The model hub that language models are submitted from. Workers get them from there too: they read `HF_ENDPOINT`."""
GPU_MEMORY_GB = env.integer("PLANARENA_GPU_MEMORY_GB", default=24, least=1)
"""Memory of the GPU that a worker has. A submitted language model must fit into it."""
MAX_CHECKPOINT_BYTES = env.size("PLANARENA_MAX_CHECKPOINT") or 4 * 1024**3
"""Of an uploaded checkpoint's zip; what it unpacks to may be twice as large."""
UNUSED_CHECKPOINTS = 5
"""Checkpoints that a user may have uploaded without having submitted them."""
UNUSED_CHECKPOINT_HOURS = 24
"""So long after its upload one that was not submitted is removed."""
UPLOADS_DIR = Path(env.text("PLANARENA_UPLOADS", str(DATA_DIR / "uploads"))).resolve()
"""Where uploads are written until they are checked. On the volume of the store they are kept without being copied."""
UPLOADS_QUOTA = env.size("PLANARENA_UPLOADS_QUOTA") or 4 * MAX_CHECKPOINT_BYTES
"""Bytes that all uploads on their way may take there together."""
DISK_RESERVE_BYTES = env.size("PLANARENA_DISK_RESERVE") or 16_000_000
"""A disk with less room than this counts as full: as much as PostgreSQL writes ahead at once."""
KEEP_ATTEMPT_DAYS = env.integer("PLANARENA_KEEP_ATTEMPT_DAYS", default=90, least=1)
"""Days after the end of an evaluation that was never ranked for which logs and attempts without results stay."""
GARBAGE_GRACE_HOURS = env.integer("PLANARENA_GARBAGE_GRACE_HOURS", default=168, least=1)
"""Objects that nothing names stay for so long after their last use: the results that name them may be on their way."""
COLLECT_ROWS = env.flag("PLANARENA_COLLECT_ROWS", default=False)
"""Whether the beat deletes rows past their retention; `collect_garbage` does in any case."""
FILE_UPLOAD_TEMP_DIR = upload_folder(UPLOADS_DIR)
FILE_UPLOAD_HANDLERS = ["leaderboard.planners.checkpoints.BoundedUpload"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

METRICS_TOKEN = env.text("PLANARENA_METRICS_TOKEN")
"""What Prometheus must send to read `/metrics`; without it there is no such page, but for this machine in demo mode."""
if METRICS_TOKEN and len(METRICS_TOKEN) < 20:
    raise ImproperlyConfigured("PLANARENA_METRICS_TOKEN is too short: use at least 20 random characters.")
