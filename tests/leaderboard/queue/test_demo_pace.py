"""Replays a demo: what the estimates foresaw while it ran, against what its evaluations then took."""

from datetime import UTC, datetime, timedelta

from leaderboard.queue.estimates import Done, Line, expectation, throughput

START = datetime(2026, 3, 1, tzinfo=UTC)
EVALUATIONS: tuple[tuple[bool, tuple[tuple[float, float], ...]], ...] = (
    (
        True,
        (
            (0.0, 8.24),
            (8.3, 1.23),
            (9.5, 0.43),
            (10.0, 0.21),
            (10.2, 0.2),
            (10.4, 0.26),
            (10.7, 0.18),
            (10.9, 0.28),
            (11.2, 0.21),
            (11.4, 0.19),
            (11.6, 0.21),
            (11.8, 0.24),
            (12.1, 0.17),
            (12.3, 2.86),
            (15.1, 0.22),
            (15.4, 0.16),
            (15.6, 0.14),
            (15.7, 0.11),
            (15.8, 0.59),
            (16.4, 0.28),
            (16.7, 0.14),
            (16.9, 0.16),
            (17.1, 0.19),
            (17.3, 0.03),
        ),
    ),
    (
        True,
        (
            (17.3, 9.99),
            (27.3, 36.4),
            (63.8, 5.7),
            (69.5, 5.71),
            (75.2, 22.35),
            (97.6, 0.66),
            (98.3, 0.52),
            (98.8, 5.44),
            (104.3, 0.28),
            (104.6, 1.47),
            (106.1, 2.4),
            (108.5, 9.67),
            (118.2, 1.46),
            (119.7, 1.34),
            (121.0, 0.24),
            (121.3, 0.34),
            (121.6, 2.81),
            (124.5, 1.08),
            (125.6, 0.3),
            (125.9, 0.22),
            (126.1, 0.2),
            (126.3, 0.41),
            (126.8, 4.56),
            (134.9, 0.13),
        ),
    ),
    (
        True,
        (
            (135.1, 0.34),
            (135.4, 0.25),
            (135.7, 0.04),
            (135.7, 0.03),
            (135.8, 0.03),
            (135.8, 0.03),
            (135.9, 0.03),
            (135.9, 0.03),
            (136.0, 0.03),
            (136.0, 0.03),
            (136.1, 0.04),
            (136.1, 0.04),
            (136.2, 0.04),
            (136.2, 0.12),
            (136.4, 0.12),
            (136.5, 0.04),
            (136.6, 0.04),
            (136.6, 0.06),
            (136.7, 0.06),
            (136.8, 0.05),
            (136.8, 0.04),
            (136.9, 0.05),
            (137.0, 0.13),
            (137.1, 0.03),
        ),
    ),
    (
        False,
        (
            (137.2, 0.28),
            (137.5, 0.12),
        ),
    ),
    (
        False,
        (
            (137.6, 0.35),
            (138.0, 0.07),
        ),
    ),
    (
        False,
        (
            (138.1, 0.22),
            (138.3, 0.06),
        ),
    ),
    (
        False,
        (
            (138.4, 0.24),
            (138.7, 0.06),
        ),
    ),
    (
        False,
        (
            (138.7, 0.24),
            (139.0, 0.07),
        ),
    ),
    (
        False,
        (
            (139.1, 0.22),
            (139.3, 0.05),
        ),
    ),
)
"""Of each evaluation of the bundled planners, in the order in which the one worker of a demo took them: whether plans
were executed, and begin and duration of its shards in seconds. Measured on two cores with empty stores."""
_SLACK = 30.0
"""Seconds: pages say minutes."""


def shards() -> list[tuple[int, Done]]:
    """All shards with the number of their evaluation."""
    found = []
    for number, (is_executed, rows) in enumerate(EVALUATIONS):
        for begin, seconds in rows:
            at = START + timedelta(seconds=begin)
            end = at + timedelta(seconds=seconds)
            found.append((number, Done(at, end, str(is_executed), number, is_executed)))
    return found


def test_estimates_in_the_demo_are_right_within_a_factor_of_two():
    every = shards()
    ends = {number: max(one.end for other, one in every if other == number) for number, _ in every}
    right = []
    for now in (START + timedelta(seconds=seconds) for seconds in range(12, 130, 3)):
        done = [one for _, one in every if one.end <= now]
        measured = throughput(done)
        assert measured is not None
        before = 0.0
        for number, (is_executed, _) in enumerate(EVALUATIONS):
            if ends[number] <= now:
                continue
            left = sum(1 for other, one in every if other == number and one.end > now)
            own = left * measured.seconds_of(suite=str(is_executed), is_executed=is_executed, planner=number)
            foreseen = expectation(measured=measured, line=Line(before=before, own=own)).ends
            assert foreseen is not None
            seconds = 60 * (foreseen.low * foreseen.high) ** 0.5
            took = (ends[number] - now).total_seconds()
            right.append(took / 2 - _SLACK <= seconds <= took * 2 + _SLACK)
            before += own
    assert sum(right) / len(right) >= 0.8
