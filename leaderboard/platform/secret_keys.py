"""The keys of a process by its role: the web process has them all, the queue's processes only what they need.

Whoever takes over a process of the queue (Celery's workers and beat, `watch_kubernetes`) finds no key that opens users'
secrets, signs sessions or makes hidden data. `known_secrets` lists what is taken out of texts of workers and planners.
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
"""Variables that a process of the queue is refused with."""
_SHORTEST_KEY = 30
_SHORTEST_TOKEN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKeys:
    """What settings of the same names hold."""

    role: str
    """`WEB` or `QUEUE`."""
    secret_key: str = field(repr=False)
    """Signs sessions. In the queue random for this process, which signs nothing."""
    fallbacks: list[str] = field(default_factory=list, repr=False)
    secrets_keys: list[str] = field(default_factory=list, repr=False)
    """Encrypt users' secrets, the first one seals; none in the queue."""
    webhook_keys: list[str] = field(default_factory=list, repr=False)
    """The same for the secrets that webhooks are signed with, which the queue's processes need as they send them."""
    hidden_seed: str = field(default="", repr=False)
    worker_token: str = field(default="", repr=False)


def queue_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process of the queue, from one that the web process has."""
    return {name: value for name, value in variables.items() if name not in ONLY_WEB} | {"PLANARENA_ROLE": QUEUE}


def keys_for_role(env: Environment, *, demo: bool, data: Path) -> SecretKeys:
    """The keys of this process, whose role PLANARENA_ROLE names.

    Args:
        env: the variables.
        demo: whether keys are made on first use and kept in the data folder.
        data: that folder.

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
    fallbacks = [key] if (key := env.text("PLANARENA_SECRET_KEY_BEFORE")) else []
    secrets_keys = [*env.names("PLANARENA_SECRETS_KEY"), secret_key, *fallbacks]
    return SecretKeys(
        role=WEB,
        secret_key=secret_key,
        fallbacks=fallbacks,
        secrets_keys=secrets_keys,
        # Older secrets were sealed with the others: `manage.py seal_again` seals them under the webhooks' own.
        webhook_keys=[*_webhook_keys(env, demo=demo, data=data), *secrets_keys],
        hidden_seed=_hidden_seed(env),
        worker_token=worker_token,
    )


def _hidden_seed(env: Environment) -> str:
    seed = env.text("PLANARENA_HIDDEN_SEED")
    try:
        return seed and checked_seed(seed, what="PLANARENA_HIDDEN_SEED")
    except SeedError as error:
        raise ImproperlyConfigured(str(error)) from None


def _of_queue(env: Environment, *, demo: bool, data: Path) -> SecretKeys:
    if too_many := [name for name in ONLY_WEB if env.text(name)]:
        raise ImproperlyConfigured(
            f"PLANARENA_ROLE is {QUEUE} and {', '.join(too_many)} is set: only the web process may have it. Remove it "
            "from the environment of this process."
        )
    webhook_keys = _webhook_keys(env, demo=demo, data=data)
    if not webhook_keys:
        raise ImproperlyConfigured(
            "PLANARENA_WEBHOOK_KEY is not set: it is what the secrets of webhooks are encrypted with (50 random "
            f"characters), and the only such key of a process with PLANARENA_ROLE={QUEUE}. Set it for all processes, "
            "and run `manage.py seal_again` in the environment of the web process if there are webhooks."
        )
    return SecretKeys(role=QUEUE, secret_key=secrets.token_urlsafe(50), webhook_keys=webhook_keys)


def _webhook_keys(env: Environment, *, demo: bool, data: Path) -> list[str]:
    found = env.names("PLANARENA_WEBHOOK_KEY")
    return found or ([kept_secret(data / "secrets" / "webhook_key")] if demo else [])


def known_secrets() -> list[str]:
    """Tokens, keys, seeds and passwords, without empty ones."""
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
