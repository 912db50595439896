"""Which votes do not count, and why. Pure: the facts of a vote are stored, and the rules may change.

Excluded votes are kept, and their number is published. The rules stop careless votes and cheap attacks. They cannot
stop somebody with many old accounts at many addresses who votes slowly and mixes true votes with false ones.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, lgamma, log, log1p

from leaderboard.votes.bradley_terry import Comparison, components

LEAST_AGE_HOURS = 24.0
"""Age of an account whose votes count."""
SECONDS_TO_LOOK = 3.0
CHARACTERS_PER_SECOND = 60.0
"""Twice as fast as people read."""
MOST_SECONDS = 15.0
MOST_PER_ADDRESS = 20
"""Votes of one address within 24 hours that count."""
DAY_SECONDS = 86_400.0
LEAST_STREAK = 6
"""Decided votes of a voter on one planner that are tested."""
LEAST_SIDES = 12
"""Decided votes of a voter whose sides are tested."""
LEVEL = 0.001
"""Significance level of the tests."""


class Exclusion(StrEnum):
    """Why a vote does not count."""

    OPTED_OUT = "opted_out"
    OWN = "own"
    NEW_ACCOUNT = "new_account"
    TOO_FAST = "too_fast"
    REPEATED = "repeated"
    ADDRESS = "address"
    SIDES = "sides"
    STREAK = "streak"


IN_WORDS: Mapping[Exclusion, str] = {
    Exclusion.OPTED_OUT: "on a planner whose owner opted out",
    Exclusion.OWN: "on a planner of the voter or of a team of theirs",
    Exclusion.NEW_ACCOUNT: "by an account that was less than a day old",
    Exclusion.TOO_FAST: "faster than anybody can read both sides",
    Exclusion.REPEATED: "on planners and a request that the voter had voted on before",
    Exclusion.ADDRESS: f"beyond {MOST_PER_ADDRESS} of one network address within a day",
    Exclusion.SIDES: "by a voter who nearly always chose the same side",
    Exclusion.STREAK: "by a voter who judged this planner unlike all others",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """A vote on one question, with the facts that the rules need."""

    id: str
    voter: str
    address: str
    """Digest of the network address; empty: unknown."""
    first: str
    """The planner shown as A."""
    second: str
    won: float
    """Of the first: 1, 0.5 or 0."""
    at: float
    """Unix time in seconds."""
    seconds: float
    """Between showing both results and the vote."""
    characters: int
    """Of the texts that were shown."""
    account_hours: float
    """Age of the account at the vote."""
    request: str
    """Digest of request and files."""
    is_own: bool
    is_opted_out: bool


def people_of(ballots: Iterable[Ballot]) -> Mapping[str, str]:
    """By voter, the smallest name of all voters that shared a network address with them, directly or through others:
    they count as one person."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    for ballot in ballots:
        neighbours[f"voter {ballot.voter}"] |= {f"address {ballot.address}"} if ballot.address else set()
        if ballot.address:
            neighbours[f"address {ballot.address}"].add(f"voter {ballot.voter}")
    found: dict[str, str] = {}
    for members in components(neighbours):
        voters = sorted(name.removeprefix("voter ") for name in members if name.startswith("voter "))
        found |= dict.fromkeys(voters, voters[0])
    return found


def screened(ballots: Sequence[Ballot]) -> Mapping[str, Exclusion]:
    """The reason by id of each vote that does not count; does not depend on their order."""
    ordered = sorted(ballots, key=lambda ballot: (ballot.at, ballot.id))
    excluded: dict[str, Exclusion] = {}
    seen: set[tuple[str, str, frozenset[str]]] = set()
    times: dict[str, list[float]] = defaultdict(list)
    for ballot in ordered:
        reason = _of_itself(ballot)
        key = (ballot.voter, ballot.request, frozenset((ballot.first, ballot.second)))
        if reason is None and key in seen:
            reason = Exclusion.REPEATED
        if reason is None and ballot.address:
            recent = [at for at in times[ballot.address] if at > ballot.at - DAY_SECONDS]
            times[ballot.address] = recent
            if len(recent) >= MOST_PER_ADDRESS:
                reason = Exclusion.ADDRESS
            else:
                recent.append(ballot.at)
        if reason is None:
            seen.add(key)
        else:
            excluded[ballot.id] = reason
    people = people_of(ballots)
    left = [ballot for ballot in ordered if ballot.id not in excluded]
    excluded |= _sides(left, people=people)
    left = [ballot for ballot in left if ballot.id not in excluded]
    return excluded | _streaks(left, people=people)


def comparisons_of(ballots: Sequence[Ballot], *, excluded: Mapping[str, Exclusion]) -> list[Comparison]:
    """The votes that count."""
    people = people_of(ballots)
    return [
        Comparison(first=one.first, second=one.second, won=one.won, voter=people[one.voter])
        for one in ballots
        if one.id not in excluded
    ]


def seconds_needed(characters: int) -> float:
    """The least time in which a person can look at both sides and read their texts."""
    return min(MOST_SECONDS, SECONDS_TO_LOOK + characters / CHARACTERS_PER_SECOND)


def _of_itself(ballot: Ballot) -> Exclusion | None:
    if ballot.is_opted_out:
        return Exclusion.OPTED_OUT
    if ballot.is_own:
        return Exclusion.OWN
    if ballot.account_hours < LEAST_AGE_HOURS:
        return Exclusion.NEW_ACCOUNT
    return Exclusion.TOO_FAST if ballot.seconds < seconds_needed(ballot.characters) else None


def _sides(ballots: Sequence[Ballot], *, people: Mapping[str, str]) -> dict[str, Exclusion]:
    """Votes of people who nearly always chose the same side: the order is random, so a fair coin decides the side of
    the better planner."""
    by_person: dict[str, list[Ballot]] = defaultdict(list)
    for ballot in ballots:
        by_person[people[ballot.voter]].append(ballot)
    excluded: dict[str, Exclusion] = {}
    for own in by_person.values():
        decided = [ballot.won for ballot in own if ballot.won != 0.5]
        most = max(decided.count(1.0), decided.count(0.0))
        if len(decided) >= LEAST_SIDES and 2 * _at_least(most, of=len(decided), chance=0.5) < LEVEL:
            excluded |= {ballot.id: Exclusion.SIDES for ballot in own}
    return excluded


def _streaks(ballots: Sequence[Ballot], *, people: Mapping[str, str]) -> dict[str, Exclusion]:
    """Votes of people whose share of wins for a planner differs from that of everybody else by more than chance."""
    on: dict[tuple[str, str], list[Ballot]] = defaultdict(list)
    wins: Counter[tuple[str, str]] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    total_wins: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for ballot in ballots:
        for planner, won in ((ballot.first, ballot.won), (ballot.second, 1 - ballot.won)):
            key = (people[ballot.voter], planner)
            on[key].append(ballot)
            if won != 0.5:
                wins[key] += won == 1
                counts[key] += 1
                total_wins[planner] += won == 1
                totals[planner] += 1
    excluded: dict[str, Exclusion] = {}
    for key, own in on.items():
        count, won = counts[key], wins[key]
        if count < LEAST_STREAK:
            continue
        # With one more win and loss, so that few votes of others are no certainty.
        chance = (total_wins[key[1]] - won + 1) / (totals[key[1]] - count + 2)
        tail = min(_at_least(won, of=count, chance=chance), _at_least(count - won, of=count, chance=1 - chance))
        if 2 * tail < LEVEL:
            excluded |= {ballot.id: Exclusion.STREAK for ballot in own}
    return excluded


def _at_least(successes: int, *, of: int, chance: float) -> float:
    """Probability of at least so many successes in independent trials; `chance` is neither 0 nor 1."""
    # By logarithms: a float holds no binomial coefficient of more than a thousand votes.
    return sum(
        exp(
            lgamma(of + 1) - lgamma(hits + 1) - lgamma(of - hits + 1)
            + hits * log(chance) + (of - hits) * log1p(-chance)
        )
        for hits in range(successes, of + 1)
    )  # fmt: skip
