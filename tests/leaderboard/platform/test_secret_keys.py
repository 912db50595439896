"""Which process has which keys."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from evaluator.network.egress_policy import egress_policy
from leaderboard.messages.webhooks import decrypt_secret, encrypt_secret, encrypt_secret_again
from leaderboard.platform.encryption import UnreadableSecretError, decrypt, encrypt
from leaderboard.platform.environment import Environment
from leaderboard.platform.secret_keys import ONLY_WEB, keys_for_role, known_secrets, queue_environment

KEY = "k" * 50
WEB = {
    "PLANARENA_SECRET_KEY": KEY, "PLANARENA_SECRETS_KEY": "of-users", "PLANARENA_WEBHOOK_KEY": "of-webhooks",
    "PLANARENA_HIDDEN_SEED": "5eed" * 16, "PLANARENA_WORKER_TOKEN": "a-token-of-the-operator",
    "PLANARENA_SECRET_KEY_BEFORE": "an-older-key",
}  # fmt: skip


def keys(tmp_path, *, demo=False, **variables):
    return keys_for_role(Environment(variables), demo=demo, data=tmp_path)


def test_the_web_process_has_all_keys_and_seals_webhooks_under_their_own(tmp_path):
    found = keys(tmp_path, **WEB)
    assert found.secrets_keys == ["of-users", KEY, "an-older-key"]
    assert found.webhook_keys == ["of-webhooks", "of-users", KEY, "an-older-key"]
    assert (found.hidden_seed, found.worker_token) == ("5eed" * 16, "a-token-of-the-operator")


def test_a_process_of_the_queue_has_the_key_of_webhooks_and_no_other(tmp_path):
    found = keys(tmp_path, **queue_environment(WEB))
    assert found.webhook_keys == ["of-webhooks"]
    assert (found.secrets_keys, found.hidden_seed, found.worker_token) == ([], "", "")
    assert found.secret_key not in WEB.values()
    assert found.secret_key != keys(tmp_path, **queue_environment(WEB)).secret_key, "it signs nothing"


def test_a_process_of_the_queue_starts_with_the_key_of_webhooks_and_no_other(tmp_path):
    queue = {"PLANARENA_ROLE": "queue"}
    refused = [
        ({**queue, "PLANARENA_WEBHOOK_KEY": "of-webhooks", name: WEB[name]}, f"{name} is set: only the web process")
        for name in ONLY_WEB
    ]
    refused += [
        (queue, r"PLANARENA_WEBHOOK_KEY is not set.*seal_again"),
        ({"PLANARENA_ROLE": "celery"}, "it must be web"),
    ]
    for variables, says in refused:
        with pytest.raises(ImproperlyConfigured, match=says):
            keys(tmp_path, **variables)


def test_the_queue_of_a_demo_makes_and_reads_no_key_but_that_of_webhooks(tmp_path):
    queue = keys(tmp_path, demo=True, PLANARENA_ROLE="queue")
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["webhook_key"]
    web = keys(tmp_path, demo=True)
    assert web.webhook_keys[0] == queue.webhook_keys[0]
    assert web.secret_key not in [queue.secret_key, *queue.webhook_keys]


def test_a_process_without_keys_reads_webhooks_and_no_other_secret(settings):
    settings.SECRETS_KEYS, settings.WEBHOOK_KEYS = ["of-users"], ["of-users"]
    header, old = encrypt("a header", purpose="secret header of an endpoint"), encrypt_secret("a webhook's")
    settings.WEBHOOK_KEYS = ["of-webhooks", "of-users"]
    kept = encrypt_secret_again(old)
    settings.SECRETS_KEYS, settings.WEBHOOK_KEYS = [], ["of-webhooks"]
    assert decrypt_secret(kept) == "a webhook's"
    with pytest.raises(UnreadableSecretError, match="seal_again"):
        decrypt_secret(old)
    with pytest.raises(UnreadableSecretError, match="Only the web process"):
        decrypt(header, purpose="secret header of an endpoint")
    with pytest.raises(UnreadableSecretError, match="Only the web process"):
        encrypt("another", purpose="secret header of an endpoint")


def test_every_secret_setting_is_known_so_that_no_log_has_it(settings):
    settings.WORKER_TOKEN, settings.HIDDEN_SEED, settings.SECRET_KEY = "worker", "seed", "key"
    settings.METRICS_TOKEN, settings.EMAIL_HOST_PASSWORD, settings.SECRETS_KEYS = "metrics", "mail", ["new", "old"]
    settings.SIGNING_KEYS, settings.STORE_SECRETS = ["signing", "signed"], ["bucket", ""]
    settings.CELERY_BROKER_URL = "redis://user:broker@host/0"
    settings.SOCIALACCOUNT_PROVIDERS = {"github": {"APPS": [{"client_id": "public", "secret": "github"}]}}
    settings.EGRESS = egress_policy({"PLANARENA_EGRESS_PROXY": "http://arena:pass%40word@proxy:3128"})
    found = set(known_secrets())
    assert {"worker", "seed", "key", "metrics", "mail", "new", "old", "broker", "github", "signing", "signed"} <= found
    assert {"bucket", "pass@word"} <= found
    settings.HIDDEN_SEED = settings.METRICS_TOKEN = settings.EMAIL_HOST_PASSWORD = ""
    settings.CELERY_BROKER_URL = "filesystem://localhost//"
    assert not {"", "public"} & {*found, *known_secrets()}
