"""The order as one statement: tiers are those of `lease_tiers`, whatever is known of other workers."""

from itertools import product

from leaderboard.queue.leasing.time_slices import Standing, lease_tiers
from leaderboard.queue.leasing.turn_statement import tiers


def test_the_table_of_tiers_says_what_the_function_says():
    all_others = [others for count in range(3) for others in product(Standing, repeat=count)]
    for others, lately in product(all_others, [False, True]):
        facts = bool(others), Standing.PROVEN in others, Standing.SLOW in others, lately
        row = 3 * sum(value * bit for value, bit in zip(facts, (8, 4, 2, 1), strict=True))
        found = {standing: tiers(slices=True)[row + standing] for standing in Standing}
        assert found == lease_tiers(others=others, lately_set_aside=lately), (others, lately)


def test_without_slices_all_are_in_one_tier():
    assert set(tiers(slices=False)) == {0}
