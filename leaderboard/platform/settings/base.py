"""The data folder, the mode of the installation, its secrets and its URLs."""

import os
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from leaderboard.platform.environment import Environment, kept_secret, origin_of, store_url
from leaderboard.platform.secret_keys import keys_for_role
from leaderboard.platform.vite import with_vite

env = Environment(os.environ)

DATA_DIR = env.data_dir()

DEMO = env.flag("PLANARENA_DEMO")
"""A demo on one machine: private endpoint addresses are allowed, email addresses need no confirmation, and secrets are
generated on first use and stored in the data folder. Django's debug pages stay off."""
DEBUG = env.flag("PLANARENA_DEBUG")
VITE = env.text("PLANARENA_VITE").rstrip("/") if DEBUG else ""
"""Origin of Vite's development server, which serves the front end's sources (`platform/vite.py`); empty: its build."""


keys = keys_for_role(env, demo=DEMO, data=DATA_DIR)
ROLE = keys.role
"""`web`, or `queue`: a process without the keys that only the web process needs."""
SECRET_KEY = keys.secret_key
SECRET_KEY_FALLBACKS = keys.fallbacks
"""The previous key, as long as sessions and secrets depend on it."""
SECRETS_KEYS = keys.secrets_keys
"""Keys of users' secrets: the first one encrypts, all of them decrypt, so that keys can be rotated
(`manage.py seal_again`). By default PLANARENA_SECRET_KEY. The queue's processes have none."""
WEBHOOK_KEYS = keys.webhook_keys
"""Keys of the secrets of webhooks, which the queue's processes decrypt to sign messages."""
WORKER_TOKEN = keys.worker_token
"""An enrolment token for workers that the operator starts; empty: only those of `manage.py worker_token` are valid.
Workers that this installation starts get a separate token for each launch."""
if DEMO:
    ALLOWED_HOSTS = env.names("PLANARENA_ALLOWED_HOSTS") or ["127.0.0.1", "localhost", "[::1]"]
else:
    env.required("PLANARENA_ALLOWED_HOSTS", purpose="the host names of the site, separated by commas")
    ALLOWED_HOSTS = env.names("PLANARENA_ALLOWED_HOSTS")

SIGNING_KEYS = env.names("PLANARENA_SIGNING_KEY")
"""Secrets of the signing keys: the first one signs, the others only introduce it to clients that trust them. Empty:
this process signs nothing."""
if DEMO and not SIGNING_KEYS:
    SIGNING_KEYS = [kept_secret(DATA_DIR / "secrets" / "signing_key")]
if any(len(key) < 30 for key in SIGNING_KEYS):
    raise ImproperlyConfigured(
        "PLANARENA_SIGNING_KEY is too short: generate one with ./planarena manage signing_key new."
    )

HTTPS = env.flag("PLANARENA_HTTPS", default=not DEMO)
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 86_400 * 30 if HTTPS else 0
TRUST_PROXY = env.flag("PLANARENA_TRUST_PROXY")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUST_PROXY else None
# Only the proxy can tell that a request came without TLS. Workers and Prometheus bypass it.
SECURE_SSL_REDIRECT = HTTPS and TRUST_PROXY
SECURE_REDIRECT_EXEMPT = [r"^api/v1/worker/", r"^metrics(/|$)"]
PROXIES = 1 if TRUST_PROXY else 0
"""Number of last entries of `X-Forwarded-For` that were written by our own proxies. Earlier entries can be forged, and
limits on password guessing depend on the address."""
ALLAUTH_TRUSTED_PROXY_COUNT = PROXIES
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
STORE_URL = store_url(env.text("PLANARENA_STORE"))
"""The bucket for artefacts and records, as `s3://bucket/prefix`; empty: `STORE_DIR` is used."""
STORE_SECRETS = [env.text("AWS_SECRET_ACCESS_KEY"), env.text("AWS_SESSION_TOKEN")]
"""Credentials of the bucket, to redact them; the S3 client reads them itself."""
STORE_ORIGIN = origin_of(env.text("PLANARENA_S3_PUBLIC_ENDPOINT")) if STORE_URL else ""
"""Origin from which browsers load pictures of the bucket; empty: the site."""
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", *filter(None, [STORE_ORIGIN])],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

if VITE:
    CONTENT_SECURITY_POLICY["DIRECTIVES"] = with_vite(CONTENT_SECURITY_POLICY["DIRECTIVES"], origin=VITE)
