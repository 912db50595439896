"""What a site, or whoever took it over, may do to a board that was signed: each is found and named."""

import base64
import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from evaluator.client.verify.checking import Order, check
from evaluator.client.verify.pins import Head, KnownSite
from evaluator.client.verify.report import ExitCode, Kind, Report
from evaluator.client.verify.site import Site, board_address
from evaluator.core import canonical_json
from evaluator.core.signatures.envelope import Envelope, PrivateKey, _signed_bytes
from evaluator.core.signatures.statements import RowDigests, record_commitment, result_digest
from tests.fakes.signed_site import BOARD, OPERATOR, PSEUDONYM, START, SignedSite, digest_of, name, rank

STRANGER = PrivateKey.from_secret("a stranger's key")
ALL = 1000


def verified(
    site: SignedSite, *, known: KnownSite | None = None, address: str = BOARD, **order: object
) -> tuple[Report, KnownSite]:
    report = Report(address=address)
    chosen = {"sample": ALL, "seed": 1, **order}
    after = check(
        order=Order(address=board_address(address), **chosen),
        site=Site(site),
        known=known or KnownSite(),
        report=report,
    )
    return report, after


def known_before(site: SignedSite | None = None) -> KnownSite:
    """What is pinned after a verification of the site as it was."""
    report, known = verified(site or SignedSite())
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    return known


def mismatches(report: Report) -> list[str]:
    return [f"{finding.part}: {finding.text}" for finding in report.of(Kind.MISMATCH)]


def test_a_board_as_it_was_signed_is_verified():
    report, known = verified(SignedSite())
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    parts = [
        "history", "snapshot", "rows", "rows", "rows", "results", "rows", "published", "records", "records",
    ]  # fmt: skip
    assert [finding.part for finding in report.of(Kind.OK)] == parts
    assert known.heads["openagi"].number == 3
    assert list(known.keys) == [OPERATOR.public.id]


def test_an_old_snapshot_is_verified_under_its_own_address():
    report, _ = verified(SignedSite(), address=f"{BOARD}snapshots/2/")
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert report.facts["snapshot"] == 2


def rows(site: SignedSite) -> list[dict]:
    return site.snapshots[3]["content"]["rows"]


def swap_first(*lists: list) -> None:
    for one in lists:
        one[0], one[1] = one[1], one[0]


def record(site: SignedSite) -> str:
    """The digest of one record."""
    return site.evaluations[name(3)]["records"]["t5"]


def replace_record(site: SignedSite) -> None:
    """Another record, with a digest that fits."""
    other = site.put(site.objects[record(site)].replace(b"Request 5", b"Request 6"))
    site.evaluations[name(3)]["records"]["t5"] = other


def swap_evaluations(site: SignedSite) -> None:
    one, other = name(1), name(2)
    site.evaluations[one], site.evaluations[other] = site.evaluations[other], site.evaluations[one]


def show(site: SignedSite, document: dict) -> None:
    """In the place of the newest snapshot in the API."""
    site.answers["/api/v1/boards/openagi/snapshots/3/"] = lambda: json.dumps(document).encode()


def claim_the_operators_key(site: SignedSite) -> None:
    site.sign(3, key=STRANGER)
    site.snapshots[3]["signature"]["signatures"][0]["keyid"] = OPERATOR.public.id


def sign_snapshot_with(site: SignedSite, signature: dict, **changes: object) -> None:
    site.snapshots[3]["signature"] = {**signature, **changes}


def later(**hours: float) -> datetime:
    return START + timedelta(**hours)


E1, E2, E3 = (f"evaluation {name(number)}" for number in (1, 2, 3))
STATEMENT = "history: the statement of snapshot 3"
ARTEFACT = digest_of(b"artefact 3 5 1")
ATTACKS: dict[str, tuple[Callable[[SignedSite], object], str]] = {
    "a mean": (lambda site: rows(site)[1]["metrics"]["overall"].update(mean=0.5),
               f"rows: snapshot 3, row 2 ({E2}): its figures or facts"),
    "an owner": (lambda site: rows(site)[1].update(owner="eve"), f"rows: snapshot 3, {E2}: the owner was changed"),
    "two rows": (lambda site: swap_first(rows(site)), f"rows: snapshot 3, row 1 ({E3}) is of another evaluation"),
    "two rows with their digests": (lambda site: swap_first(rows(site), site.snapshots[3]["rows"]),
                                    "rows: snapshot 3: the digests of the rows are not the signed ones"),
    "no row": (lambda site: rows(site).pop(), "rows: snapshot 3: the number of rows is wrong"),
    "no row and no digests": (lambda site: (rows(site).pop(), site.snapshots[3]["rows"].pop()),
                              "rows: snapshot 3: the digests of the rows are not the signed ones"),
    "coverage": (lambda site: site.snapshots[3]["content"].update(coverage={"run": 13, "total": 13}),
                 "rows: snapshot 3: the content has other fields than rows and the signed coverage"),
    "the digest of the content": (lambda site: site.snapshots[3].update(digest="0" * 64),
                                  "rows: snapshot 3: the content digest of the snapshot is wrong"),
    "a task's score": (lambda site: site.evaluations[name(2)]["tasks"][4].update(score=0.99),
                       f"results: {E2}: its results are not the signed ones"),
    "two evaluations": (swap_evaluations, f"results: {E2}: its results are not the signed ones"),
    "no task": (lambda site: site.evaluations[name(2)]["tasks"].pop(0),
                f"results: {E2}: its results are not the signed ones"),
    "no evaluation": (lambda site: site.evaluations.pop(name(1)),
                      f"results: {E1}, which the snapshot names, is missing"),
    "an unsigned evaluation": (lambda site: site.evaluations[name(1)].update(signature=None),
                               f"results: {E1} has no signature"),
    "a record": (lambda site: site.objects.update({record(site): b"{}"}),
                 f"records: record of {E3}, task 't5' was changed"),
    "no record": (lambda site: site.objects.pop(record(site)), f"records: record of {E3}, task 't5' is missing"),
    "a record that is not named": (lambda site: site.evaluations[name(3)]["records"].pop("t5"),
                                   f"records: {E3}, task 't5': its record is not named"),
    "another record": (replace_record, f"records: {E3}, task 't5': another record is named"),
    "an artefact": (lambda site: site.objects.update({ARTEFACT: b"something else"}),
                    f"records: artefact of {E3}, task 't5' was changed"),
    "no artefact": (lambda site: site.objects.pop(ARTEFACT), f"records: artefact of {E3}, task 't5' is missing"),
    "a salt": (lambda site: site.evaluations[name(3)].update(salt="another"),
               f"records: {E3}, task 't1': another record is named"),
    "an old snapshot": (lambda site: setattr(site, "shown", 2),
                        "snapshot: the board shows an old snapshot as the newest"),
    "an unsigned snapshot": (lambda site: show(site, {**site.snapshots[3], "signature": None}),
                             "snapshot: snapshot 3 is shown without its signature"),
    "another snapshot": (lambda site: show(site, site.snapshots[2]),
                         "snapshot: snapshot 3 is shown with another statement than in the history"),
    "a gap in the history": (lambda site: site.snapshots.pop(2), "history: the snapshot before snapshot 3 is missing"),
    "no first snapshot": (lambda site: site.snapshots.pop(1), "history: the snapshot before snapshot 2 is missing"),
    # By the operator, who can sign anything: the snapshot after it names the old statement.
    "a rewritten history": (lambda site: site.sign(2, created=START),
                            "history: the statement of snapshot 2 is another one than snapshot 3 names"),
    "an unsigned history": (lambda site: site.snapshots[2].update(signature=None),
                            "history: the statement of snapshot 2 is another one than snapshot 3 names"),
    "a stranger's signature": (lambda site: site.sign(3, key=STRANGER), f"{STATEMENT} is signed by key"),
    "a stranger's under the operator's key": (claim_the_operators_key, f"{STATEMENT} does not have a valid signature"),
    "an evaluation's as a snapshot's": (
        lambda site: sign_snapshot_with(site, site.evaluations[name(3)]["signature"]), f"{STATEMENT} is of type"),
    # The type within the payload is not the only protection: the signature covers the envelope's, too.
    "an evaluation's that says it is a snapshot's": (
        lambda site: sign_snapshot_with(site, site.evaluations[name(3)]["signature"],
                                        payloadType=site.snapshots[3]["signature"]["payloadType"]),
        f"{STATEMENT} does not have a valid signature"),
    "a snapshot's as an evaluation's": (
        lambda site: site.evaluations[name(3)].update(signature=site.snapshots[3]["signature"]),
        f"results: the statement of {E3} is of type"),
    "the signature of another number": (lambda site: sign_snapshot_with(site, site.snapshots[2]["signature"]),
                                        f"{STATEMENT} is about another one"),
    "a retired key": (lambda site: site.keys[0].update(retired=later(hours=2.5).isoformat()),
                      f"{STATEMENT} was signed when its key was not in use"),
    "a key that was not yet made": (lambda site: site.keys[0].update(created=later(hours=1.5).isoformat()),
                                    "history: the statement of snapshot 1 was signed when its key was not in use"),
    "a signature from before its publication": (lambda site: site.sign(3, signed=later(hours=2.5)),
                                                "history: snapshot 3 was signed before it was published"),
}  # fmt: skip


@pytest.mark.parametrize("what", ATTACKS)
def test_what_was_changed_after_signing_is_a_mismatch_that_says_where(what):
    attack, says = ATTACKS[what]
    site = SignedSite()
    attack(site)
    report, known = verified(site)
    assert report.exit_code is ExitCode.CHECK_FAILED, report.as_text()
    assert any(text.startswith(says) for text in mismatches(report)), report.as_text()
    assert known == KnownSite(), "nothing is pinned of a site that does not verify"
    first = report.of(Kind.MISMATCH)[0]
    assert first.expected != first.found


def resigned(site: SignedSite, change: Callable[[dict], None]) -> SignedSite:
    """The site after its operator, who can sign anything, changed a row of the newest snapshot."""
    proof = site.snapshots[3]
    change(proof["content"]["rows"][0])
    proof["rows"][0]["result"] = result_digest(proof["content"]["rows"][0])
    proof["digest"] = canonical_json.digest(proof["content"])
    site.sign(3)
    return site


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda row: row["metrics"]["overall"].update(mean=0.99), "the mean of overall does not follow"),
        (lambda row: row["metrics"]["ViT"].update(tasks=7), "the number of tasks of ViT does not follow"),
        (lambda row: row["metrics"]["overall"].update(low=row["metrics"]["overall"]["low"] + 0.001), "the interval of"),
        (lambda row: row["metrics"].pop("overall"), "the mean of overall does not follow"),
        (lambda row: row["outcomes"].update(scored=12), "the outcomes do not follow"),
        (lambda row: row["usage"].update(seconds=0.1), "seconds per task does not follow"),
        (lambda row: row["cost"].update(usd=0.1), "the cost per task does not follow"),
        (lambda row: row["readable"].update(tasks=1), "the share of readable replies contradicts its results"),
        (lambda row: row["readable"].update(mean=0.0), "the share of readable replies contradicts its results"),
        (lambda row: row.update(rank=2), "the rank of evaluation"),
        (lambda row: row.update(rank_high=3), "the range of ranks of evaluation"),
        (lambda row: row.update(rank_low=None), "the range of ranks of evaluation"),
        (lambda row: row.update(rank_tests=2), "the range of ranks of evaluation"),
        (lambda row: row.update(runs={"evaluations": [name(2), name(3)]}), "the mean of overall does not follow"),
        (lambda row: row.update(runs={"evaluations": [name(3), name(2)]}), "an evaluation is in several rows"),
        (lambda row: row.update(planner="planner of 2", owner="user2"), "a planner is in several rows"),
    ],
)
def test_figures_that_do_not_follow_from_the_results_are_found_though_the_operator_signed_them(change, says):
    report, _ = verified(resigned(SignedSite(), change))
    assert report.exit_code is ExitCode.CHECK_FAILED
    assert any(says in text for text in mismatches(report)), report.as_text()


def test_without_the_results_of_a_row_the_ranges_are_not_called_right():
    site = SignedSite()
    del site.evaluations[name(2)]
    report, _ = verified(site)
    (found,) = [finding.text for finding in report.of(Kind.NOT_CHECKED) if finding.part == "rows"]
    assert found == "ranges of ranks: the results of 1 evaluations are missing"
    assert "paired tests" not in " ".join(finding.text for finding in report.of(Kind.OK))


def test_a_number_of_samples_that_no_table_can_have_is_not_computed(monkeypatch):
    monkeypatch.setattr("evaluator.client.verify.ranks.MOST_SCORES", 30)
    report, _ = verified(SignedSite())
    assert "ranges of ranks: 3 rows of 13 tasks are too many to test again" in [
        finding.text for finding in report.of(Kind.NOT_CHECKED)
    ]


def test_a_score_that_is_not_in_its_record_is_found_though_the_operator_signed_everything():
    site = SignedSite()
    forged = site.evaluations[name(3)]
    task = forged["tasks"][5]
    data = json.loads(site.objects[forged["records"]["t5"]])
    data["score"] = task["score"] = data["score"] + 0.5
    forged["records"]["t5"] = site.put(canonical_json.dumps(data).encode())
    task["record"] = record_commitment(salt=forged["salt"], task="t5", digest=forged["records"]["t5"])
    site._sign_evaluation(forged)
    rows = [site._row(name(number), 0) for number in (3, 2, 1)]
    rank(rows)
    proof = site.snapshots[3]
    proof["content"]["rows"] = rows
    proof["digest"] = canonical_json.digest(proof["content"])
    proof["rows"] = [
        RowDigests(
            evaluation=row["evaluation"], result=result_digest(row), names=old["names"],
            tasks=site.tasks_digests[row["evaluation"]],
        ).model_dump(mode="json")
        for row, old in zip(rows, proof["rows"], strict=True)
    ]  # fmt: skip
    site.sign(3)
    report, _ = verified(site)
    assert mismatches(report) == [
        f"records: record of evaluation {name(3)}, task 't5': its score is not the mean of its samples"
    ], report.as_text()


def test_a_site_that_goes_back_to_an_old_state_is_found_by_who_has_seen_the_newer_one():
    report, _ = verified(SignedSite(snapshots=2), known=known_before())
    assert "history: the site has gone back to an earlier state" in mismatches(report)
    assert verified(SignedSite(snapshots=2))[0].exit_code is ExitCode.PASSED, "nobody else can know"


def test_a_history_that_was_rewritten_and_signed_again_is_found_by_who_has_seen_it():
    known = known_before()
    site = SignedSite()
    site.sign(2, created=later(hours=1, minutes=59))
    site.sign(3)
    assert verified(site)[0].exit_code is ExitCode.PASSED
    report, _ = verified(site, known=known)
    assert any("the history was rewritten" in text for text in mismatches(report)), report.as_text()


def test_a_site_that_goes_on_is_verified_with_what_was_pinned():
    known = known_before(SignedSite(snapshots=2))
    report, after = verified(SignedSite(), known=known)
    assert report.exit_code is ExitCode.PASSED
    assert after.heads["openagi"].number == 3


def test_a_key_that_was_replaced_after_it_was_pinned_is_refused():
    known = known_before()
    site = SignedSite()
    site.sign_all_again(key=STRANGER)
    report, after = verified(site, known=known)
    assert report.exit_code is ExitCode.CHECK_FAILED
    [finding] = report.of(Kind.MISMATCH)
    assert (finding.part, finding.expected, finding.found) == ("key", OPERATOR.public.id, STRANGER.public.id)
    assert after == known


def rotated(*, by: PrivateKey | None = OPERATOR) -> SignedSite:
    """A site that changed its key before its third snapshot; `by` introduces the new one."""
    site = SignedSite(snapshots=2)
    site.rotate(STRANGER, at=later(hours=2.5), introduced_by=by)
    site.publish(3)
    return site


def test_a_key_that_the_pinned_one_introduces_is_trusted_from_then_on():
    report, after = verified(rotated(), known=known_before(SignedSite(snapshots=2)))
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert set(after.keys) == {OPERATOR.public.id, STRANGER.public.id}
    assert after.keys[OPERATOR.public.id].retired is not None


@pytest.mark.parametrize("by", [None, STRANGER])
def test_a_key_that_the_pinned_one_does_not_introduce_signs_nothing(by):
    report, _ = verified(rotated(by=by), known=known_before(SignedSite(snapshots=2)))
    assert any("which is not trusted" in text for text in mismatches(report)), report.as_text()


def test_a_key_that_was_seen_retired_stays_retired_whatever_the_site_says_later():
    known = known_before(rotated())
    # Whoever stole the old key runs a site on which it was never replaced.
    report, _ = verified(SignedSite(snapshots=4), known=known)
    assert any("when its key was not in use" in text for text in mismatches(report)), report.as_text()


@pytest.mark.parametrize("given", [OPERATOR.public.id, OPERATOR.public.text])
def test_a_given_key_alone_is_trusted(given):
    assert verified(SignedSite(), key=given)[0].exit_code is ExitCode.PASSED
    site = SignedSite()
    site.sign_all_again(key=STRANGER)
    report, _ = verified(site, key=given)
    assert report.of(Kind.MISMATCH)[0].part == "key"


def test_snapshots_from_before_the_given_key_count_because_newer_ones_name_them():
    site = rotated()
    assert verified(site, key=STRANGER.public.id)[0].exit_code is ExitCode.PASSED
    del site.snapshots[3]
    report, _ = verified(site, key=STRANGER.public.id)
    assert report.exit_code is ExitCode.CHECK_FAILED, "no trusted statement names them"


def test_an_unsigned_snapshot_could_not_be_checked():
    site = SignedSite()
    site.snapshots[3]["signature"] = None
    report, _ = verified(site)
    assert report.exit_code is ExitCode.INFRASTRUCTURE
    assert [finding.text for finding in report.of(Kind.NOT_CHECKED)] == ["snapshot 3 is not signed"]


def test_an_unsigned_snapshot_before_a_signed_one_is_bound_by_its_content():
    site = SignedSite(snapshots=1)
    site.snapshots[1]["signature"] = None
    site.publish(2)
    report, _ = verified(site)
    assert report.exit_code is ExitCode.PASSED
    assert "1 of 2 snapshots of this suite are not signed" in [finding.text for finding in report.of(Kind.NOTE)]
    site.snapshots[1]["digest"] = "0" * 64
    assert "history: snapshot 1 was changed after snapshot 2 was signed" in mismatches(verified(site)[0])


def withhold(site: SignedSite, *, evaluation: str = name(2), number: int = 3) -> dict:
    """Replace an owner's name in a snapshot and forget its salt, with nothing that says so. Returns the row."""
    proof = site.snapshots[number]
    row = next(row for row in proof["content"]["rows"] if row["evaluation"] == evaluation)
    row["owner"] = PSEUDONYM
    del proof["salts"][evaluation]["owner"]
    proof["digest"] = canonical_json.digest(proof["content"])
    return row


def test_withdrawn_names_are_said_and_everything_else_is_still_verified():
    site = SignedSite()
    row = withhold(site)
    withhold(site, number=2)
    site.withdraw(number=3, evaluations=[name(2)])
    report, _ = verified(site)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert any("snapshot 3: 1 names are withdrawn" in finding.text for finding in report.of(Kind.NOTE))
    row["planner"] = "another planner"
    assert "rows: snapshot 3, evaluation 00000000-0000-4000-8000-000000000002: the planner was changed" in mismatches(
        verified(site)[0]
    )


@pytest.mark.parametrize("field", ["planner", "owner"])
def test_a_name_whose_salt_is_missing_is_a_mismatch_where_no_signed_statement_withdraws_it(field):
    site = SignedSite()
    for row in site.snapshots[3]["content"]["rows"]:
        row[field] = PSEUDONYM
        del site.snapshots[3]["salts"][row["evaluation"]][field]
    site.snapshots[3]["digest"] = canonical_json.digest(site.snapshots[3]["content"])
    report, _ = verified(site)
    assert report.exit_code is ExitCode.CHECK_FAILED
    wanted = f"rows: snapshot 3, evaluation {name(1)}: the {field} cannot be checked, and no signed withdrawal says why"
    assert wanted in mismatches(report)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"evaluations": [name(3)]}, "cannot be checked, and no signed withdrawal says why"),
        ({"what": "team", "placeholder": "withdrawn"}, "cannot be checked, and no signed withdrawal says why"),
        ({"placeholder": "deleted user 00000000"}, "is withdrawn, and another one is shown"),
        ({"through": 2, "snapshot": None}, "cannot be checked, and no signed withdrawal says why"),
        ({"snapshot": "0" * 64}, "withdrawal 1 is about another snapshot 3 than is listed"),
        ({"suite": "toolworld"}, "withdrawal 1 is about another suite"),
        ({"place": 2}, "withdrawal 1 has another number"),
        ({"previous": "0" * 64}, "withdrawal 1 does not name the one before it"),
        ({"key": PrivateKey.from_secret("of a stranger")}, "withdrawal 1 is signed by key"),
    ],
)  # fmt: skip
def test_a_withdrawal_of_something_else_excuses_nothing(fields, says):
    site = SignedSite()
    withhold(site)
    withhold(site, number=2)
    key = fields.get("key", OPERATOR)
    site.withdraw(number=3, **{"evaluations": [name(2)], **fields, "key": key})
    report, _ = verified(site)
    assert report.exit_code is ExitCode.CHECK_FAILED
    assert any(says in text for text in mismatches(report)), report.as_text()


def test_a_withdrawal_that_a_snapshot_names_cannot_be_left_out_or_replaced():
    def made() -> SignedSite:
        site = SignedSite(snapshots=2)
        site.withdraw(number=2, what="row", reason="hidden by an operator", placeholder=None, evaluations=[name(1)])
        site.publish(3)
        return site

    assert verified(made())[0].exit_code is ExitCode.PASSED
    for change in (lambda site: site.withdrawals.clear(), lambda site: site.withdrawals.reverse() or replace(site)):
        site = made()
        change(site)
        assert "withdrawn: snapshot 3 names another list of withdrawals" in mismatches(verified(site)[0])


def replace(site: SignedSite) -> None:
    """The only withdrawal by another one, which the operator signs as well."""
    site.withdrawals.clear()
    site.withdraw(number=1, evaluations=[name(1)])


def drop_row(site: SignedSite, *, number: int = 3) -> None:
    """A row that the snapshot before has is left out; the operator signs the rest as if it had never been there."""
    proof = site.snapshots[number]
    for rows in (proof["content"]["rows"], proof["rows"]):
        del rows[2]
    del proof["salts"][name(1)]
    rank(proof["content"]["rows"])
    for row, digests in zip(proof["content"]["rows"], proof["rows"], strict=True):
        digests["result"] = result_digest(row)
    proof["digest"] = canonical_json.digest(proof["content"])
    site.sign(number)


def test_a_row_that_was_dropped_is_found_unless_a_signed_statement_withdraws_it():
    site = SignedSite()
    drop_row(site)
    dropped = f"rows: snapshot 3 has no row of evaluation {name(1)}, which snapshot 2 has"
    assert mismatches(verified(site)[0]) == [dropped]
    site.withdraw(number=1, what="row", reason="hidden by an operator", placeholder=None, evaluations=[name(1)])
    assert mismatches(verified(site)[0]) == [dropped], "it left after another snapshot"
    site.withdrawals.clear()
    site.withdraw(number=2, what="row", reason="hidden by an operator", placeholder=None, evaluations=[name(1)])
    report, _ = verified(site)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    said = f"evaluation {name(1)} left the board after snapshot 2: hidden by an operator"
    assert said in [finding.text for finding in report.of(Kind.NOTE)]


def test_a_row_that_was_dropped_since_the_last_verification_is_found_in_later_snapshots():
    known = known_before(SignedSite(snapshots=2))
    site = SignedSite()
    drop_row(site)
    site.evaluations[name(4)] = site.evaluated(4)
    proof = json.loads(json.dumps(site.snapshots[3]))
    proof["number"] = 4
    site.snapshots[4] = proof
    site.sign(4)
    assert verified(site)[0].exit_code is ExitCode.PASSED, "the step from snapshot 3 drops nothing"
    found = mismatches(verified(site, known=known)[0])
    assert found == [f"rows: snapshot 3 has no row of evaluation {name(1)}, which snapshot 2 has"]


def test_records_of_open_data_that_are_withheld_could_not_be_checked():
    site = SignedSite()
    for made in site.evaluations.values():
        made["salt"], made["records"] = None, {}
    report, _ = verified(site)
    assert report.exit_code is ExitCode.INFRASTRUCTURE, report.as_text()
    assert f"evaluation {name(1)}: its 12 records are withheld, though its data are open" in [
        finding.text for finding in report.of(Kind.NOT_CHECKED)
    ]


def test_the_digest_of_every_record_is_checked_and_not_only_of_the_sample():
    site = SignedSite()
    site.evaluations[name(3)]["records"]["t5"] = "0" * 64
    wanted = f"records: evaluation {name(3)}, task 't5': another record is named than was signed"
    assert mismatches(verified(site, sample=0)[0]) == [wanted]


@pytest.mark.parametrize(
    ("path", "old", "new", "says"),
    [
        ("/api/v1/boards/openagi/rows/", b'"user3"', b'"eve"', "page 1 of the API's rows: rows is not as"),
        ("/api/v1/boards/openagi/?", b'"user3"', b'"eve"', ""),
        ("/api/v1/boards/openagi/snapshots/3/?", b'"user3"', b'"eve"', ""),
        ("/boards/openagi/snapshots/3.csv", b"user3", b"eve", "row 1: owner is not as it was signed"),
        ("/boards/openagi/newest.json", b'"user3"', b'"eve"', "content is not as it was signed"),
        ("/boards/openagi/snapshots/3/", b">user3<", b">eve<", f"evaluation {name(3)}: owner is not as it was signed"),
        ("/boards/openagi/?per_page=100", name(3).encode(), name(4).encode(), "shows other rows, or in another order"),
        ("/boards/openagi/?per_page=100", b'"metric-ViT">', b'"metric-ViT">9', "metric-ViT is not as it was signed"),
        ("/boards/openagi/?per_page=100", b'"shown-ViT">', b'"shown-ViT">9', "shown-ViT is not as it was signed"),
        ("/boards/openagi/?per_page=100", b" or so", b'<b data-cell="rank">1</b>', "rank again is not"),
    ],
)  # fmt: skip
def test_other_rows_than_the_signed_ones_are_found_wherever_they_are_shown(path, old, new, says):
    site = SignedSite()
    exact, path = path.endswith("?"), path.rstrip("?")
    real = site.get

    def get(asked: str, *, most_bytes: int) -> bytes:
        data = real(asked, most_bytes=most_bytes)
        if asked == path if exact else asked.startswith(path):
            assert old in data
            return data.replace(old, new)
        return data

    site.get = get
    report, _ = verified(site)
    assert report.exit_code is ExitCode.CHECK_FAILED, report.as_text()
    assert any(text.startswith("published: ") and says in text for text in mismatches(report)), report.as_text()


def test_another_reader_s_snapshot_shows_whether_the_site_tells_both_the_same_history():
    site = SignedSite()
    mine, _ = verified(site)
    [history] = [finding.text for finding in mine.of(Kind.OK) if finding.part == "history"]
    head = Head.from_text(history.rpartition(" ")[2])
    assert verified(site, head=head)[0].exit_code is ExitCode.PASSED
    # Signed by the same operator, for another reader.
    other = SignedSite()
    other.sign(3, created=later(hours=2, minutes=59))
    assert any("the history was rewritten" in text for text in mismatches(verified(other, head=head)[0]))
    older = verified(SignedSite(snapshots=2), head=head)[0]
    assert "history: the site has gone back to an earlier state" in mismatches(older)


def test_a_page_that_takes_long_to_read_is_not_read():
    site = SignedSite()
    row = f'<tr id="row-{name(3)}">'
    site.answers["/boards/openagi/snapshots/3/"] = lambda: (row + "<b data-cell='rank'>1" * 200_000).encode()
    report, _ = verified(site)
    assert report.exit_code is ExitCode.INFRASTRUCTURE
    assert "has a row with more than 200 elements" in report.as_text()


def test_records_of_a_hidden_split_are_not_read_and_the_report_says_so():
    site = SignedSite(hidden=True)
    report, _ = verified(site)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert any("36 records are not public" in finding.text for finding in report.of(Kind.NOTE))
    assert "records" not in {finding.part for finding in report.of(Kind.OK)}
    assert not any(path.startswith("/objects/") for path in site.asked)
    site.evaluations[name(2)]["tasks"][4]["score"] = 0.99
    assert verified(site)[0].exit_code is ExitCode.CHECK_FAILED, "scores that are shown are checked"


def test_the_same_seed_reads_the_same_records_and_another_one_others():
    def read(seed: int) -> list[str]:
        site = SignedSite()
        verified(site, sample=5, seed=seed)
        records = {digest for one in site.evaluations.values() for digest in one["records"].values()}
        return [path[9:] for path in site.asked if path.startswith("/objects/") and path[9:] in records]

    assert read(1) == read(1)
    assert len(read(1)) == 5
    assert read(1) != read(2)


def test_an_accepted_fault_is_read_as_the_fault_that_its_record_tells():
    site = SignedSite(snapshots=0)
    made = site.evaluated(1)
    data = json.loads(site.objects[made["records"]["t0"]])
    data |= {"outcome": "infra_fault", "reason": "endpoint_unavailable", "score": None}
    made["records"]["t0"] = site.put(canonical_json.dumps(data).encode())
    made["tasks"][0] |= {
        "accepted": True,
        "record": record_commitment(salt=made["salt"], task="t0", digest=made["records"]["t0"]),
    }
    site._sign_evaluation(made)
    site.evaluated = lambda _: made
    site.publish(1)
    report, _ = verified(site)
    assert report.exit_code is ExitCode.PASSED, report.as_text()


def test_the_report_shows_no_control_characters_of_the_site():
    site = SignedSite()
    site.snapshots[3]["rows"][0]["evaluation"] = "\x1b[2Jverified"
    report, _ = verified(site)
    assert any("\x1b" in text for text in mismatches(report))
    assert "\x1b" not in report.as_text()


def test_an_envelope_whose_payload_is_not_canonical_is_refused_though_it_is_signed():
    site = SignedSite()
    envelope = Envelope.model_validate(site.snapshots[3]["signature"])
    body = base64.b64decode(envelope.payload).replace(b'{"', b'{ "', 1)
    signature = OPERATOR.sign(_signed_bytes(kind=envelope.payloadType, body=body))
    site.snapshots[3]["signature"] = {
        "payloadType": envelope.payloadType,
        "payload": base64.b64encode(body).decode(),
        "signatures": [{"keyid": OPERATOR.public.id, "sig": base64.b64encode(signature).decode()}],
    }
    assert any("is not canonical JSON" in text for text in mismatches(verified(site)[0]))


def test_a_sample_says_what_it_shows_of_the_rest():
    report, _ = verified(SignedSite(), sample=10)
    digests, found = [finding.text for finding in report.of(Kind.OK) if finding.part == "records"]
    assert digests == "the digests of all 36 records are the signed ones"
    assert "10 of 36 records" in found
    assert "if 25.9 % or more of all records were wrong" in found
    assert "these are all" in verified(SignedSite())[0].as_text()
