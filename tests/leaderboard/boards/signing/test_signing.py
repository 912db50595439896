"""When what is signed, with which key."""

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from evaluator.client.verify.documents import parsed
from evaluator.client.verify.pins import KnownSite
from evaluator.client.verify.report import Kind
from evaluator.client.verify.trust import UntrustedError, trust
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.signatures.documents import KeysDocument
from evaluator.core.signatures.envelope import PrivateKey
from leaderboard.boards.models import EvaluationSignature, SigningKey, SnapshotSignature
from leaderboard.boards.signing import services, tasks
from leaderboard.boards.signing.keys import signing_key
from leaderboard.boards.signing.services import sign_evaluations, sign_snapshot
from tests.leaderboard.boards.signing.boards import published, verified
from tests.leaderboard.evaluations.web.factories import make_board, make_suite

pytestmark = pytest.mark.django_db
OLD, NEW, OTHER = ("old key " * 5).replace(" ", "-"), ("new key " * 5).replace(" ", "-"), "another-key-" * 4


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.STORE_DIR = tmp_path / "store"


def keys_of(client) -> KeysDocument:
    return parsed(client.get("/.well-known/planarena-keys.json").content, shape=KeysDocument)


def test_publishing_signs_the_snapshot_and_its_evaluations_once():
    _, newest = make_board()
    assert SnapshotSignature.objects.count() == 2
    assert newest.signature.key_id == PrivateKey.from_secret("signing key of the tests and no secret").public.id
    evaluations = [row["evaluation"] for row in newest.content["rows"]]
    assert set(map(str, EvaluationSignature.objects.values_list("pk", flat=True))) == set(evaluations)

    def signatures() -> list[list[dict]]:
        return [list(model.objects.order_by("pk").values()) for model in (SnapshotSignature, EvaluationSignature)]

    before = signatures()
    sign_snapshot(newest)
    sign_evaluations(evaluations)
    tasks.sign_unsigned()
    assert signatures() == before


def test_a_process_without_a_key_publishes_unsigned_and_a_process_with_it_signs_later(settings, client):
    suite = make_suite()
    published(suite=suite, owner="ada")
    keys, settings.SIGNING_KEYS = settings.SIGNING_KEYS, []
    unsigned = published(suite=suite, owner="bea")
    assert not SnapshotSignature.objects.filter(pk=unsigned.pk).exists()
    assert verified().exit_code is ExitCode.INFRASTRUCTURE
    tasks.sign_unsigned()
    assert not SnapshotSignature.objects.filter(pk=unsigned.pk).exists(), "this process still has no key"
    settings.SIGNING_KEYS = keys
    tasks.sign_unsigned()
    assert verified().exit_code is ExitCode.PASSED


def test_what_was_published_before_there_was_a_key_stays_unsigned_until_the_command_signs_it(settings):
    suite = make_suite()
    keys, settings.SIGNING_KEYS = settings.SIGNING_KEYS, []
    old = published(suite=suite, owner="ada")
    settings.SIGNING_KEYS = keys
    published(suite=suite, owner="bea")
    tasks.sign_unsigned()
    assert not SnapshotSignature.objects.filter(pk=old.pk).exists()
    report = verified()
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert any("1 of 2 snapshots of this suite are not signed" in finding.text for finding in report.of(Kind.NOTE))
    call_command("signing_key", "sign")
    report = verified("/boards/openagi/snapshots/1/")
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    signature = SnapshotSignature.objects.get(pk=old.pk)
    assert signature.signed > old.created, "it says when it was signed"


def test_what_cannot_be_signed_is_published_unsigned_and_signed_later(monkeypatch, caplog):
    suite = make_suite()
    with transaction.atomic():
        signing_key()

    def fail(_: object) -> None:
        raise RuntimeError("no entropy")

    with monkeypatch.context() as patched:
        patched.setattr(services, "rows_digest", fail)
        made = published(suite=suite, owner="ada")
    assert made.content["rows"]
    assert "stay unsigned for now" in caplog.text
    tasks.sign_unsigned()
    assert verified().exit_code is ExitCode.PASSED


def test_a_new_key_is_introduced_by_the_one_before_and_clients_go_on(settings, client):
    suite = make_suite()
    settings.SIGNING_KEYS = [OLD]
    published(suite=suite, owner="ada")
    known = KnownSite(keys=trust(document=keys_of(client), known=KnownSite()).pins())
    settings.SIGNING_KEYS = [NEW, OLD]
    published(suite=suite, owner="bea")
    new, old = keys_of(client).keys
    assert (new.id, old.id) == (PrivateKey.from_secret(NEW).public.id, PrivateKey.from_secret(OLD).public.id)
    assert (old.retired, new.retired) == (new.created, None)
    report = verified(known=known)
    assert report.exit_code is ExitCode.PASSED, report.as_text()


def test_a_new_key_without_the_secret_of_the_one_before_is_refused_by_clients_that_know_that(settings, client, caplog):
    suite = make_suite()
    settings.SIGNING_KEYS = [OLD]
    published(suite=suite, owner="ada")
    known = KnownSite(keys=trust(document=keys_of(client), known=KnownSite()).pins())
    settings.SIGNING_KEYS = [NEW, OTHER]
    published(suite=suite, owner="bea")
    assert "is not introduced by" in caplog.text
    assert verified(known=known).exit_code is ExitCode.CHECK_FAILED
    new = PrivateKey.from_secret(NEW).public
    with pytest.raises(UntrustedError):
        trust(document=keys_of(client), known=KnownSite(), given=PrivateKey.from_secret(OTHER).public.id)
    assert set(trust(document=keys_of(client), known=KnownSite(), given=new.text).trusted) == {new.id}


def test_a_process_that_still_has_the_old_key_signs_nothing(settings, caplog):
    suite = make_suite()
    for keys in ([OLD], [NEW, OLD]):
        settings.SIGNING_KEYS = keys
        with transaction.atomic():
            assert signing_key() is not None
    settings.SIGNING_KEYS = [OLD]
    left = published(suite=suite, owner="ada")
    assert not SnapshotSignature.objects.filter(pk=left.pk).exists()
    assert "restart this process" in caplog.text
    settings.SIGNING_KEYS = [NEW, OLD]
    tasks.sign_unsigned()
    assert verified().exit_code is ExitCode.PASSED


def test_the_list_of_keys_can_be_kept_for_a_minute_and_holds_no_secret(client):
    make_board()
    response = client.get("/.well-known/planarena-keys.json")
    assert response["Cache-Control"] == "public, max-age=60"
    assert "no secret" not in response.content.decode()
    assert response.json()["keys"][0]["algorithm"] == "ed25519"


class TestCommand:
    def test_a_new_secret_is_printed_and_nothing_is_kept(self, capsys):
        call_command("signing_key", "new")
        secret = capsys.readouterr().out.strip()
        assert len(secret) >= 50
        assert "," not in secret
        assert not SigningKey.objects.exists()

    def test_the_public_keys_are_shown_and_a_new_one_is_registered(self, settings, capsys):
        for settings.SIGNING_KEYS in ([OLD], [NEW, OLD]):
            call_command("signing_key", "show")
        shown = capsys.readouterr().out.splitlines()
        assert shown[-2].startswith(PrivateKey.from_secret(NEW).public.id)
        assert shown[-2].endswith("introduced by the previous key")
        assert PrivateKey.from_secret(OLD).public.text in shown[-1]
        assert OLD not in "".join(shown)

    def test_signing_without_a_key_is_refused(self, settings):
        settings.SIGNING_KEYS = []
        with pytest.raises(CommandError, match="Set PLANARENA_SIGNING_KEY"):
            call_command("signing_key", "sign")
