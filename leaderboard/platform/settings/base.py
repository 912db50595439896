"""The data folder, the mode of the installation, its secrets and its addresses."""

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
"""A demo on one machine: private endpoint addresses are allowed, nobody has to confirm an e-mail address, and secrets
are made on first use and kept in the data folder. It never turns on Django's debug pages."""
DEBUG = env.flag("PLANARENA_DEBUG")
VITE = env.text("PLANARENA_VITE").rstrip("/") if DEBUG else ""
"""Origin of Vite's development server, which serves the front end's sources (`platform/vite.py`); empty: its build."""


keys = keys_for_role(env, demo=DEMO, data=DATA_DIR)
ROLE = keys.role
"""`web`, or `queue`: a process without the keys that only the web process needs."""
SECRET_KEY = keys.secret_key
SECRET_KEY_FALLBACKS = keys.fallbacks
"""The key before this one, while sessions and secrets that were made with it are still to be read."""
SECRETS_KEYS = keys.secrets_keys
"""What users' secrets are encrypted with: the first one seals, all of them open, so that keys can be changed
(`manage.py seal_again`). Without PLANARENA_SECRETS_KEY it is PLANARENA_SECRET_KEY. The queue's processes have none."""
WEBHOOK_KEYS = keys.webhook_keys
"""The same for the secrets of webhooks, which the queue's processes open to sign what they send."""
WORKER_TOKEN = keys.worker_token
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
# Only the proxy's word tells that somebody came without TLS. Workers and Prometheus come past it.
SECURE_SSL_REDIRECT = HTTPS and TRUST_PROXY
SECURE_REDIRECT_EXEMPT = [r"^api/v1/worker/", r"^metrics(/|$)"]
PROXIES = 1 if TRUST_PROXY else 0
"""How many of the last addresses in `X-Forwarded-For` proxies of ours have written. What stands before them is the
caller's own invention, and with none nothing in it counts: limits on guessing passwords go by address."""
ALLAUTH_TRUSTED_PROXY_COUNT = PROXIES
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
STORE_URL = store_url(env.text("PLANARENA_STORE"))
"""The bucket with artefacts and records, as `s3://bucket/prefix`; empty: they are in `STORE_DIR`."""
STORE_SECRETS = [env.text("AWS_SECRET_ACCESS_KEY"), env.text("AWS_SESSION_TOKEN")]
"""Credentials of the bucket, which the S3 client reads by itself; for taking them out of texts."""
STORE_ORIGIN = origin_of(env.text("PLANARENA_S3_PUBLIC_ENDPOINT")) if STORE_URL else ""
"""Where browsers get pictures from the bucket; empty: from the site."""
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
