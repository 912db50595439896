"""Votes that do not count: carelessness and cheap attacks, and honest voters who must not be excluded."""

from collections import Counter
from dataclasses import replace
from random import Random

from leaderboard.votes.agreement import agreement_of
from leaderboard.votes.bradley_terry import Comparison, rate, strengths_of, win_probability
from leaderboard.votes.screening import (
    MOST_PER_ADDRESS,
    Ballot,
    Exclusion,
    comparisons_of,
    people_of,
    screened,
    seconds_needed,
)

HOUR, DAY = 3600.0, 86400.0


def ballot(number: int = 0, **parts) -> Ballot:
    usual = {
        "id": f"{number:04}", "voter": "ada", "address": "", "first": "a", "second": "b", "won": 1.0,
        "at": number * HOUR, "seconds": 30.0, "characters": 200, "account_hours": 1000.0, "request": f"r{number}",
        "is_own": False, "is_opted_out": False,
    }  # fmt: skip
    return Ballot(**{**usual, **parts})


def honest(*, rng: Random, voters: int = 30, each: int = 20, true: dict[str, float] | None = None) -> list[Ballot]:
    true = true or {"a": 1.0, "b": 0.3, "c": -0.3, "d": -1.0}
    ballots = []
    for voter in range(voters):
        for number in range(each):
            first, second = rng.sample(sorted(true), 2)
            won = float(rng.random() < win_probability(true[first] - true[second]))
            ballots.append(
                ballot(len(ballots), voter=f"v{voter}", address=f"h{voter}", first=first, second=second, won=won,
                       at=number * DAY + voter)
            )  # fmt: skip
    return ballots


def reasons(ballots: list[Ballot]) -> Counter[str]:
    return Counter(map(str, screened(ballots).values()))


def test_honest_votes_count():
    excluded = [len(screened(honest(rng=Random(seed)))) for seed in range(10)]
    assert sum(excluded) / (10 * 600) < 0.01


def test_votes_on_ones_own_planner_do_not_count():
    assert screened([ballot(is_own=True)]) == {"0000": Exclusion.OWN}


def test_votes_on_a_planner_whose_owner_opted_out_do_not_count():
    assert screened([ballot(is_opted_out=True)]) == {"0000": Exclusion.OPTED_OUT}


def test_votes_of_new_accounts_do_not_count():
    assert screened([ballot(account_hours=23)]) == {"0000": Exclusion.NEW_ACCOUNT}


def test_votes_faster_than_reading_do_not_count():
    assert screened([ballot(seconds=2.9, characters=0), ballot(1, seconds=6, characters=600)]) == {
        "0000": Exclusion.TOO_FAST, "0001": Exclusion.TOO_FAST
    }  # fmt: skip
    assert seconds_needed(10**6) == 15


def test_the_same_request_to_the_same_planners_counts_once():
    again = ballot(1, request="r0", first="b", second="a", won=0.0)
    assert screened([ballot(), again]) == {"0001": Exclusion.REPEATED}
    assert screened([ballot(), replace(again, voter="eve")]) == {}


def test_many_votes_of_one_address_do_not_count():
    """A person with many accounts: the first votes of each day count, as those of one voter."""
    ballots = [
        ballot(number, voter=f"sock{number}", address="same", first=f"p{number % 9}", second="q", won=float(number % 2),
               at=number * 60.0)
        for number in range(60)
    ]  # fmt: skip
    assert reasons(ballots) == {"address": 60 - MOST_PER_ADDRESS}
    assert len({one.voter for one in comparisons_of(ballots, excluded=screened(ballots))}) == 1
    later = [replace(one, id=f"later {one.id}", at=one.at + 2 * DAY, request=f"later {one.id}") for one in ballots[:5]]
    assert len(screened(ballots + later)) == 60 - MOST_PER_ADDRESS


def test_accounts_at_one_address_are_one_person_through_others_too():
    ballots = [
        ballot(0, voter="a", address="x"), ballot(1, voter="b", address="x"), ballot(2, voter="b", address="y"),
        ballot(3, voter="c", address="y"), ballot(4, voter="d", address=""), ballot(5, voter="e", address=""),
    ]  # fmt: skip
    assert people_of(ballots) == {"a": "a", "b": "a", "c": "a", "d": "d", "e": "e"}


def test_a_streak_for_one_planner_does_not_count():
    """Somebody promotes the weakest planner: the strengths stay what they were."""
    others = honest(rng=Random(1))
    fans = [
        ballot(5000 + number, voter="fan", address="fan", first="d" if number % 2 else "abc"[number % 3],
               second="abc"[number % 3] if number % 2 else "d", won=float(number % 2), at=number * DAY)
        for number in range(18)
    ]  # fmt: skip
    excluded = screened(others + fans)
    assert {excluded.get(one.id) for one in fans} == {Exclusion.STREAK}
    with_fans = strengths_of(rate(comparisons_of(others + fans, excluded=excluded)))
    without = strengths_of(rate(comparisons_of(others, excluded=screened(others))))
    assert max(abs(with_fans[name] - without[name]) for name in "abcd") < 0.05


def test_a_streak_against_one_planner_does_not_count():
    others = honest(rng=Random(2))
    haters = [
        ballot(5000 + number, voter="foe", address="foe", first="a" if number % 2 else "d",
               second="d" if number % 2 else "a", won=float(not number % 2), at=number * DAY)
        for number in range(16)
    ]  # fmt: skip
    excluded = screened(others + haters)
    assert {excluded.get(one.id) for one in haters} == {Exclusion.STREAK}


def test_a_streak_over_several_accounts_at_one_address_does_not_count():
    others = honest(rng=Random(3))
    socks = [
        ballot(5000 + number, voter=f"sock{number % 6}", address="same", first="d" if number % 2 else "a",
               second="a" if number % 2 else "d", won=float(number % 2), at=number * DAY / 2)
        for number in range(18)
    ]  # fmt: skip
    excluded = screened(others + socks)
    assert {excluded.get(one.id) for one in socks} == {Exclusion.STREAK}


def test_always_the_same_side_does_not_count():
    lazy = [ballot(number, first="abcdefgh"[number % 8], second="z", won=1.0) for number in range(14)]
    assert reasons(lazy) == {"sides": 14}
    assert reasons([replace(one, won=0.5) for one in lazy]) == {}


def test_a_fan_of_the_best_planner_counts():
    """A planner that wins nearly always does so with everybody."""
    rng = Random(4)
    ballots = honest(rng=rng, true={"best": 4.0, "b": 0.0, "c": 0.0})
    fan = [
        ballot(5000 + number, voter="fan", address="fan", first="best" if number % 2 else "b",
               second="b" if number % 2 else "best", won=float(number % 2), at=number * DAY)
        for number in range(12)
    ]  # fmt: skip
    assert screened(ballots + fan).keys().isdisjoint(one.id for one in fan)


def test_the_order_of_votes_given_to_the_rules_changes_nothing():
    ballots = honest(rng=Random(5), voters=6)
    mixed = Random(6).sample(ballots, len(ballots))
    assert screened(mixed) == screened(ballots)


def test_agreement_counts_decided_votes_on_measured_planners():
    votes = [
        Comparison(first="a", second="b", won=1.0, voter="v"), Comparison(first="b", second="a", won=1.0, voter="v"),
        Comparison(first="b", second="a", won=0.0, voter="w"), Comparison(first="a", second="b", won=0.5, voter="w"),
        Comparison(first="a", second="unmeasured", won=0.0, voter="w"),
        Comparison(first="a", second="equal", won=0.0, voter="w"),
    ]  # fmt: skip
    measured = {"a": 0.8, "b": 0.5, "equal": 0.8}
    share, count = agreement_of(votes, measured=measured, higher_is_better=True)
    assert (share.mean, count, share.count) == (2 / 3, 3, 2)
    assert share.low < 2 / 3 < share.high
    assert agreement_of(votes, measured=measured, higher_is_better=False)[0].mean == 1 / 3
    assert agreement_of(votes, measured={"a": 1.0}, higher_is_better=True) is None


def test_a_person_of_thousands_of_votes_stops_no_table():
    many = [
        ballot(number, first="ab"[number % 2], second="ba"[number % 2], won=float(number % 3 > 0), address=f"h{number}")
        for number in range(3000)
    ]
    assert set(reasons(many)) <= {"sides", "streak", "address", "repeated"}
