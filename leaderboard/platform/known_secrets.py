"""Every secret of the site's own settings, for taking them out of what workers and planners send."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from django.conf import settings

from gpu_jobs.tracing.options import header_secrets


def known_secrets() -> list[str]:
    """Tokens, keys, seeds and passwords, without empty ones."""
    return [secret for secret in _all() if secret]


def _all() -> Iterable[str]:
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
