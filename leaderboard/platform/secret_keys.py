"""The keys of a process by its role: the web process has all keys, the queue's processes only those that they need.

A compromised process of the queue (Celery's workers and beat, `watch_kubernetes`) has no key to users' secrets,
sessions or hidden data. `known_secrets` lists the secrets that are redacted from texts of workers and planners.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from evaluator.core.suites.hidden import SeedError, checked_seed
from gpu_jobs.tracing.options import header_secrets
from leaderboard.platform.environment import Environment, kept_secret

WEB, QUEUE = "web", "queue"
ONLY_WEB = (
    "PLANARENA_SECRET_KEY", "PLANARENA_SECRET_KEY_BEFORE", "PLANARENA_SECRETS_KEY", "PLANARENA_HIDDEN_SEED",
    "PLANARENA_WORKER_TOKEN",
)  # fmt: skip
"""Variables that a process of the queue must not have."""
_SHORTEST_KEY = 30
_SHORTEST_TOKEN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKeys:
    """Values of the settings of the same names."""

    role: str
    """`WEB` or `QUEUE`."""
    secret_key: str = field(repr=False)
    """Signs sessions. In the queue, random per process, since it signs nothing."""
    fallbacks: list[str] = field(default_factory=list, repr=False)
    secrets_keys: list[str] = field(default_factory=list, repr=False)
    """Keys of users' secrets, of which the first encrypts; empty in the queue."""
    webhook_keys: list[str] = field(default_factory=list, repr=False)
    """Keys of the secrets that sign webhooks, which the queue's processes send."""
    hidden_seed: str = field(default="", repr=False)
    worker_token: str = field(default="", repr=False)


def queue_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process of the queue, derived from that of the web process."""
    return {name: value for name, value in variables.items() if name not in ONLY_WEB} | {"PLANARENA_ROLE": QUEUE}


def keys_for_role(env: Environment, *, demo: bool, data: Path) -> SecretKeys:
    """The keys of this process, by its role in PLANARENA_ROLE.

    Args:
        env: the variables.
        demo: whether keys are generated on first use and stored in the data folder.
        data: the data folder.

    Raises:
        ImproperlyConfigured: a key is missing or too short, the role is unknown, or a process of the queue has keys
            of the web process.
    """
    role = env.text("PLANARENA_ROLE", WEB)
    if role == WEB:
        return _of_web(env, demo=demo, data=data)
    if role == QUEUE:
        return _of_queue(env, demo=demo, data=data)
    raise ImproperlyConfigured(f"PLANARENA_ROLE is {role!r}: it must be {WEB} (or unset) or {QUEUE}.")


def _of_web(env: Environment, *, demo: bool, data: Path) -> SecretKeys:
    if demo:
        secret_key = env.text("PLANARENA_SECRET_KEY") or kept_secret(data / "secrets" / "secret_key")
    else:
        secret_key = env.required("PLANARENA_SECRET_KEY", purpose="the key that signs sessions (50 random characters)")
        if len(secret_key) < _SHORTEST_KEY:
            raise ImproperlyConfigured("PLANARENA_SECRET_KEY is too short: use 50 random characters.")
    worker_token = env.text("PLANARENA_WORKER_TOKEN")
    if worker_token and len(worker_token) < _SHORTEST_TOKEN:
        raise ImproperlyConfigured(
            f"PLANARENA_WORKER_TOKEN is too short: use at least {_SHORTEST_TOKEN} random characters."
        )
    hidden_seed = env.text("PLANARENA_HIDDEN_SEED")
    try:
        hidden_seed = hidden_seed and checked_seed(hidden_seed, what="PLANARENA_HIDDEN_SEED")
    except SeedError as error:
        raise ImproperlyConfigured(str(error)) from None
    fallbacks = [key] if (key := env.text("PLANARENA_SECRET_KEY_BEFORE")) else []
    secrets_keys = [*env.names("PLANARENA_SECRETS_KEY"), secret_key, *fallbacks]
    return SecretKeys(
        role=WEB,
        secret_key=secret_key,
        fallbacks=fallbacks,
        secrets_keys=secrets_keys,
        # Older secrets are encrypted with the others until `manage.py seal_again` re-encrypts them.
        webhook_keys=[*_webhook_keys(env, demo=demo, data=data), *secrets_keys],
        hidden_seed=hidden_seed,
        worker_token=worker_token,
    )


def _of_queue(env: Environment, *, demo: bool, data: Path) -> SecretKeys:
    if forbidden := [name for name in ONLY_WEB if env.text(name)]:
        raise ImproperlyConfigured(
            f"PLANARENA_ROLE is {QUEUE} and {', '.join(forbidden)} is set: only the web process may have it. Remove it "
            "from the environment of this process."
        )
    webhook_keys = _webhook_keys(env, demo=demo, data=data)
    if not webhook_keys:
        raise ImproperlyConfigured(
            "PLANARENA_WEBHOOK_KEY is not set: it encrypts the secrets of webhooks (50 random characters), and is the "
            f"only such key of a process with PLANARENA_ROLE={QUEUE}. Set it for all processes, and run "
            "`manage.py seal_again` in the environment of the web process if there are webhooks."
        )
    return SecretKeys(role=QUEUE, secret_key=secrets.token_urlsafe(50), webhook_keys=webhook_keys)


def _webhook_keys(env: Environment, *, demo: bool, data: Path) -> list[str]:
    keys = env.names("PLANARENA_WEBHOOK_KEY")
    return keys or ([kept_secret(data / "secrets" / "webhook_key")] if demo else [])


def known_secrets() -> list[str]:
    """All configured tokens, keys, seeds and passwords."""
    return [secret for secret in _secrets_of_settings() if secret]


def _secrets_of_settings() -> Iterable[str]:
    yield from (settings.WORKER_TOKEN, settings.HIDDEN_SEED, settings.SECRET_KEY, settings.METRICS_TOKEN)
    yield from settings.SECRETS_KEYS
    yield from settings.WEBHOOK_KEYS
    yield from settings.SIGNING_KEYS
    yield from settings.STORE_SECRETS
    yield settings.EMAIL_HOST_PASSWORD
    yield str(settings.DATABASES["default"].get("PASSWORD") or "")
    yield urlsplit(settings.CELERY_BROKER_URL).password or ""
    if settings.EGRESS.proxy is not None:
        yield settings.EGRESS.proxy.password
    for provider in settings.SOCIALACCOUNT_PROVIDERS.values():
        yield from (app.get("secret", "") for app in provider.get("APPS", []))
    yield from header_secrets()
