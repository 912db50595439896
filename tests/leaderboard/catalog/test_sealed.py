"""The sealed pool: adding, parsing, reviewing and withdrawing entries, and their use in a season."""

import json
from itertools import count

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.template.loader import render_to_string

from evaluator.core.plans.model import Plan
from evaluator.core.signatures.envelope import Envelope, open_envelope
from evaluator.core.signatures.statements import SeasonStatement
from evaluator.core.suites.hidden import HIDDEN, suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.core.suites.sealed import as_proof
from leaderboard.boards.signing.keys import public_keys
from leaderboard.catalog import seasons
from leaderboard.catalog.hidden_data import NoSeedError, checked_hidden_seed
from leaderboard.catalog.models import SealedEntry, SealedState, SeasonData
from leaderboard.catalog.sealed.bodies import body_of, findings_of
from leaderboard.catalog.sealed.pool import (
    ParserReading,
    PoolError,
    UploadRefusedError,
    add,
    derive,
    read_lines,
    review,
    rules_reading,
    withdraw,
)
from leaderboard.catalog.web.sealed_forms import UploadForm
from leaderboard.platform.models import AuditEntry
from tests.leaderboard.catalog.sealed import ANSWERS, SLUG, added, derived, make_suite, proposal, sealed
from tests.leaderboard.factories import make_season, make_user
from tests.leaderboard.threads import in_threads

pytestmark = pytest.mark.django_db
_numbers = count()


@pytest.fixture
def suite():
    return make_suite()


def people(number: int = 2):
    return [make_user(f"operator {next(_numbers)}") for _ in range(number)]


def test_texts_and_goals_are_encrypted_and_the_audit_log_has_no_word_of_them(suite):
    ada, bob = people()
    entry = sealed(proposal(), by=ada, reviewer=bob)[0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM catalog_sealedentry")
        stored = str(cursor.fetchall())
        cursor.execute("SELECT * FROM platform_auditentry")
        logged = str(cursor.fetchall())
    for secret in ("coarse", "low_resolution", "Captioning", "CC0"):
        assert secret not in stored
        assert secret not in logged
    assert body_of(entry).text.startswith("Scan 1 of {image}")
    actions = AuditEntry.objects.filter(target=str(entry.pk)).order_by("pk").values_list("action", "actor")
    assert list(actions) == [("sealed_added", ada.username), ("sealed_derived", ""), ("sealed_reviewed", bob.username)]


def test_an_entry_that_no_season_could_use_or_that_is_there_already_is_refused_by_line(suite):
    (ada,) = people(1)
    added(proposal(1), by=ada)
    wrong = [
        (3, proposal(1, text="SCAN 1 of  {image} is coarse. Enlarge it and caption it in German.")),
        (4, proposal(2)),
        (5, proposal(2)),
        (7, proposal(3, goal={})),
        (8, proposal(4, goal={"inputs": {"image": {}}, "answers": [{"goal": "image_captioning"}]})),
        (9, proposal(5, text=suite.tasks.first().text)),
    ]
    with pytest.raises(UploadRefusedError) as refused:
        add(suite=SLUG, proposals=wrong, by=ada)
    assert [error.line for error in refused.value.errors] == [3, 5, 7, 8, 9]
    assert SealedEntry.objects.count() == 1
    with pytest.raises(PoolError, match="takes no sealed requests"):
        add(suite="openagi", proposals=[(1, proposal())], by=ada)


def test_the_form_says_that_no_suite_takes_sealed_requests(rf):
    def page():
        return render_to_string("admin/sealed/form.html", {"form": UploadForm(), "is_upload": True}, rf.get("/"))

    assert "No suite of this site takes sealed requests" in page()
    make_suite()
    assert "No suite of this site" not in page()


def test_an_upload_is_bounded_and_its_errors_have_lines():
    line = json.dumps(proposal().model_dump())
    assert [number for number, _ in read_lines(f"{line}\n\n{line}\n".encode())] == [1, 3]
    with pytest.raises(UploadRefusedError) as refused:
        read_lines(
            b'{"text": 1}\nno json\n'
            + line.replace('"person"', '"robot"').encode()
            + b'\n\xff\n{"text": "a", "text": "b"}'
        )
    assert [error.line for error in refused.value.errors] == [1, 2, 3, 4, 5]
    with pytest.raises(PoolError, match="at most 1000"):
        read_lines(b"{}\n" * 1001)
    with pytest.raises(PoolError, match="4 MiB"):
        read_lines(b"x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(PoolError, match="no lines"):
        read_lines(b"\n \n")


def test_two_parsers_must_read_the_goal_of_the_author(suite):
    (ada,) = people(1)
    agreed, silent, other = added(*map(proposal, range(3)), by=ada)
    rules = rules_reading(request=body_of(agreed).request, suite=suite_of(SLUG))
    assert rules.plan is not None
    gold = as_proof(body_of(agreed).request, suite=suite_of(SLUG)).gold
    assert derive(agreed.pk, readings=[rules, ParserReading("another", gold)]).state == SealedState.DERIVED
    same = as_proof(body_of(silent).request, suite=suite_of(SLUG)).gold
    assert (
        derive(silent.pk, readings=[ParserReading("a", same), ParserReading("b", None)]).state == SealedState.DISPUTED
    )
    nothing = Plan(steps=(), answers=())
    read = derive(other.pk, readings=[rules_reading(request=body_of(other).request, suite=suite_of(SLUG)),
                                      ParserReading("b", nothing)])  # fmt: skip
    assert read.state == SealedState.DISPUTED
    assert [(reading.reader, reading.agrees) for reading in findings_of(read).readings] == [
        ("rules", True),
        ("b", False),
    ]
    assert findings_of(read).readings[1].plan == "no tool can meet the request"
    with pytest.raises(PoolError, match="the entry is disputed"):
        derive(other.pk, readings=[rules, ParserReading("b", gold)])
    with pytest.raises(ValueError, match="two parsers"):
        derive(agreed.pk, readings=[rules, rules])


def test_a_reviewer_is_someone_else_has_one_try_and_an_invalid_goal_is_none(suite):
    ada, bob = people()
    first, second = (derived(entry) for entry in added(proposal(1), proposal(2), by=ada))
    with pytest.raises(PoolError, match="someone else"):
        review(first.pk, values=ANSWERS, by=ada)
    with pytest.raises(ValueError, match="needs a language"):
        review(first.pk, values={**ANSWERS, "language 1": [""]}, by=bob)
    first.refresh_from_db()
    assert first.state == SealedState.DERIVED
    assert review(first.pk, values=ANSWERS, by=bob).state == SealedState.SEALED
    assert review(second.pk, values={**ANSWERS, "language 1": ["en"]}, by=bob).state == SealedState.DISPUTED
    with pytest.raises(PoolError, match="the entry is disputed"):
        review(second.pk, values=ANSWERS, by=bob)
    assert findings_of(SealedEntry.objects.get(pk=second.pk)).readings[-1].agrees is False


def test_the_database_refuses_what_the_services_would(suite):
    ada, bob = people()
    entry = added(proposal(), by=ada)[0]
    for wrong in ({"reviewer": ada}, {"state": "sealed"}, {"state": "used", "reviewer": bob}, {"state": "unheard-of"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            SealedEntry.objects.filter(pk=entry.pk).update(**wrong)


@pytest.mark.django_db(transaction=True)
def test_of_two_reviewers_at_once_one_decides():
    make_suite()
    ada, *reviewers = people(3)
    entry = derived(added(proposal(), by=ada)[0])
    left = list(reviewers)
    errors = in_threads(lambda: review(entry.pk, values=ANSWERS, by=left.pop()), count=2)
    assert [type(error) for error in errors] == [PoolError]
    entry.refresh_from_db()
    assert entry.state == SealedState.SEALED
    assert AuditEntry.objects.filter(action="sealed_reviewed").count() == 1


def test_an_entry_of_a_season_cannot_be_withdrawn_and_every_other_can(suite):
    ada, bob = people()
    proposed = added(proposal(1), by=ada)[0]
    used = sealed(proposal(2), by=ada, reviewer=bob)[0]
    make_season("a", sealed={SLUG: 1 / suite.tasks.count()})
    assert withdraw(proposed.pk, by=bob).state == SealedState.WITHDRAWN
    for entry in (used, proposed):
        with pytest.raises(PoolError, match="This is not possible"):
            withdraw(entry.pk, by=bob)
    added(proposal(1), by=ada)


class TestSeason:
    def share(self, suite, entries: int) -> float:
        return entries / suite.tasks.count()

    def test_a_season_takes_its_declared_share_which_its_commitment_covers(self, suite):
        ada, bob = people()
        sealed(*map(proposal, range(2)), by=ada, reviewer=bob)
        season = make_season("a", sealed={SLUG: self.share(suite, 1)})
        data = SeasonData.objects.get(season=season, suite=SLUG)
        hidden = checked_hidden_seed(season="a", suite=SLUG)
        assert (data.sealed, len(hidden.sealed), data.sealed_digest != "") == (1, 1, True)
        assert hidden.commitment(SLUG) == data.commitment
        asked = suite_on_split(suite=suite_of(SLUG), split=HIDDEN, hidden_seed=hidden.secret, sealed=hidden.sealed)
        words = hidden.sealed[0].text.partition("{image}")[0]
        assert sum(task.text.startswith(words) for task in asked.tasks) == 1
        states = SealedEntry.objects.order_by("state").values_list("state", "season")
        assert list(states) == [("sealed", None), ("used", "a")]
        make_season("b", sealed={SLUG: self.share(suite, 1)})
        assert checked_hidden_seed(season="b", suite=SLUG).sealed != hidden.sealed
        details = AuditEntry.objects.get(action="season_announced", target="a").details
        assert details["sealed"] == {SLUG: 1}

    def test_what_the_pool_cannot_fill_and_a_change_of_the_share_are_refused(self, suite):
        ada, bob = people()
        sealed(proposal(), by=ada, reviewer=bob)
        added(proposal(2), by=ada)
        for share, complaint in [
            (self.share(suite, 2), "fills 1 of the 2 places"),
            (1.5, "at most 1"),
            (1e-9, "less than one"),
        ]:
            with pytest.raises(seasons.SeasonError, match=complaint):
                make_season("a", sealed={SLUG: share})
        assert not SeasonData.objects.exists()
        make_season("a", sealed={SLUG: 0})
        with pytest.raises(seasons.SeasonError, match="cannot be set"):
            make_season("a", sealed={SLUG: self.share(suite, 1)})
        with pytest.raises(seasons.SeasonError, match="cannot be set"):
            make_season("b", sealed={"unheard-of": 0.5})

    def test_an_entry_that_was_exchanged_or_lost_stops_the_season(self, suite):
        ada, bob = people()
        one, two = sealed(*map(proposal, range(2)), by=ada, reviewer=bob)
        make_season("a", sealed={SLUG: self.share(suite, 1)})
        used = SealedEntry.objects.get(state=SealedState.USED)
        other = two if used == one else one
        SealedEntry.objects.filter(pk=used.pk).update(body=other.body)
        with pytest.raises(NoSeedError, match="sealed requests of openagi-season in season a are not those"):
            checked_hidden_seed(season="a", suite=SLUG)
        with pytest.raises(NoSeedError):
            call_close("a")
        SealedEntry.objects.filter(pk=used.pk).update(body="nonsense")
        with pytest.raises(NoSeedError, match="cannot be read"):
            checked_hidden_seed(season="a", suite=SLUG)

    def test_requests_are_published_with_the_season_and_not_before(self, suite, client, django_assert_max_num_queries):
        ada, bob = people()
        entry = sealed(proposal(), by=ada, reviewer=bob)[0]
        make_season("a", sealed={SLUG: self.share(suite, 1)})
        address = f"/api/v1/seasons/a/sealed/{SLUG}/"
        bob.is_staff = True
        bob.save()
        client.force_login(bob)
        before = client.get("/api/v1/seasons/a/").json()["suites"]
        assert client.get(address).status_code == 404
        call_close("a")
        after = client.get("/api/v1/seasons/a/").json()["suites"]
        (shown,) = [data for data in before if data["suite"] == SLUG]
        assert (shown["sealed"], shown["sealed_digest"], shown["seed"]) == (1, None, None)
        (shown,) = [data for data in after if data["suite"] == SLUG]
        assert shown["sealed_digest"] == SeasonData.objects.get(suite=SLUG).sealed_digest
        with django_assert_max_num_queries(12):
            (request,) = client.get(address).json()["requests"]
        body = body_of(entry)
        assert request == {"text": body.text, "goal": body.goal, "credit": "Ada", "licence": "CC0-1.0"}
        entry.refresh_from_db()
        assert entry.state == SealedState.PUBLISHED
        assert client.get("/api/v1/seasons/a/sealed/openagi/").status_code == 404

    def test_the_announcement_is_signed_with_the_number_of_sealed_requests(self, suite, capsys):
        ada, bob = people()
        sealed(proposal(), by=ada, reviewer=bob)
        call_command("season", "announce", "a", "--sealed", f"{SLUG}={self.share(suite, 1)}")
        assert "sealed requests 1" in capsys.readouterr().out
        envelope = seasons.Season.objects.get().announcements.get().envelope
        signed = open_envelope(Envelope.model_validate(envelope), expected=SeasonStatement, keys=public_keys())
        assert [data.sealed for data in signed.suites if data.suite == SLUG] == [1]
        with pytest.raises(CommandError, match="--sealed is a suite and a share"):
            call_command("season", "announce", "b", "--sealed", "openagi-season")


def call_close(name: str) -> None:
    from django.db.models import Q

    seasons.close(name=name, unfinished=Q(pk__in=[]))


def test_the_command_has_parsers_read_what_is_proposed(suite, capsys):
    (ada,) = people(1)
    added(proposal(), by=ada)
    call_command("sealed", "derive", "--planner", "no-op")
    assert "0 derived, 1 disputed, 0 not read" in capsys.readouterr().out
    call_command("sealed", "list")
    assert "openagi-season  disputed  1" in capsys.readouterr().out
    with pytest.raises(CommandError, match="unheard-of"):
        call_command("sealed", "derive", "--planner", "unheard-of")


def test_secrets_are_encrypted_again_under_a_new_key(suite, settings):
    (ada,) = people(1)
    entry = derived(added(proposal(), by=ada)[0])
    before = entry.body
    settings.SECRETS_KEYS = ("a new key" * 5, *settings.SECRETS_KEYS)
    call_command("seal_again", verbosity=0)
    settings.SECRETS_KEYS = settings.SECRETS_KEYS[:1]
    entry.refresh_from_db()
    assert entry.body != before
    assert body_of(entry).text.startswith("Scan 1")
    assert findings_of(entry) is not None


def test_the_page_of_seasons_says_how_many_requests_are_sealed_and_none_of_them(suite, client):
    ada, bob = people()
    sealed(proposal(), by=ada, reviewer=bob)
    make_season("a", sealed={SLUG: 1 / suite.tasks.count()})
    make_season("b")
    page = " ".join(client.get(f"/boards/{SLUG}/seasons/").content.decode().split())
    assert page.count("sealed request") == 1
    assert "with 1 <a" in page
    assert "coarse" not in page
