"""Which process has which keys."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from leaderboard.notifications.signing import opened, sealed, sealed_again
from leaderboard.site.encryption import UnreadableSecretError, decrypt, encrypt
from leaderboard.site.environment import Environment
from leaderboard.site.secret_keys import ONLY_WEB, keys_for_role, queue_environment

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


@pytest.mark.parametrize("name", ONLY_WEB)
def test_a_process_of_the_queue_with_a_key_of_the_web_process_does_not_start(tmp_path, name):
    with pytest.raises(ImproperlyConfigured, match=f"{name} is set: only the web process"):
        keys(tmp_path, PLANARENA_ROLE="queue", PLANARENA_WEBHOOK_KEY="of-webhooks", **{name: WEB[name]})


def test_a_process_of_the_queue_without_the_key_of_webhooks_says_what_to_do(tmp_path):
    with pytest.raises(ImproperlyConfigured, match=r"PLANARENA_WEBHOOK_KEY is not set.*seal_again"):
        keys(tmp_path, PLANARENA_ROLE="queue")


def test_an_unknown_role_is_refused(tmp_path):
    with pytest.raises(ImproperlyConfigured, match="it must be web"):
        keys(tmp_path, PLANARENA_ROLE="celery")


def test_the_queue_of_a_demo_makes_and_reads_no_key_but_that_of_webhooks(tmp_path):
    queue = keys(tmp_path, demo=True, PLANARENA_ROLE="queue")
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["webhook_key"]
    web = keys(tmp_path, demo=True)
    assert web.webhook_keys[0] == queue.webhook_keys[0]
    assert web.secret_key not in [queue.secret_key, *queue.webhook_keys]


def test_a_process_without_keys_reads_webhooks_and_no_other_secret(settings):
    settings.SECRETS_KEYS, settings.WEBHOOK_KEYS = ["of-users"], ["of-users"]
    header, old = encrypt("a header", purpose="secret header of an endpoint"), sealed("a webhook's")
    settings.WEBHOOK_KEYS = ["of-webhooks", "of-users"]
    kept = sealed_again(old)
    settings.SECRETS_KEYS, settings.WEBHOOK_KEYS = [], ["of-webhooks"]
    assert opened(kept) == "a webhook's"
    with pytest.raises(UnreadableSecretError, match="seal_again"):
        opened(old)
    with pytest.raises(UnreadableSecretError, match="Only the web process"):
        decrypt(header, purpose="secret header of an endpoint")
    with pytest.raises(UnreadableSecretError, match="Only the web process"):
        encrypt("another", purpose="secret header of an endpoint")
