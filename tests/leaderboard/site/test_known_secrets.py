"""Which secrets the site knows of itself."""

from evaluator.egress_policy import egress_policy
from leaderboard.site.known_secrets import known_secrets


def test_every_secret_setting_is_listed(settings):
    settings.WORKER_TOKEN, settings.HIDDEN_SEED, settings.SECRET_KEY = "worker", "seed", "key"
    settings.METRICS_TOKEN, settings.EMAIL_HOST_PASSWORD, settings.SECRETS_KEYS = "metrics", "mail", ["new", "old"]
    settings.SIGNING_KEYS, settings.STORE_SECRETS = ["signing", "signed"], ["bucket", ""]
    settings.CELERY_BROKER_URL = "redis://user:broker@host/0"
    settings.SOCIALACCOUNT_PROVIDERS = {"github": {"APPS": [{"client_id": "public", "secret": "github"}]}}
    found = set(known_secrets())
    assert {"worker", "seed", "key", "metrics", "mail", "new", "old", "broker", "github", "signing", "signed"} <= found
    assert "bucket" in found
    assert not {"", "public"} & found


def test_what_is_not_set_is_left_out(settings):
    settings.HIDDEN_SEED = settings.METRICS_TOKEN = settings.EMAIL_HOST_PASSWORD = ""
    settings.CELERY_BROKER_URL = "filesystem://localhost//"
    assert "" not in known_secrets()


def test_the_egress_proxy_s_password_is_listed(settings):
    settings.EGRESS = egress_policy({"PLANARENA_EGRESS_PROXY": "http://arena:pass%40word@proxy:3128"})
    assert "pass@word" in known_secrets()
