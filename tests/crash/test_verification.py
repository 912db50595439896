"""An own worker's results are verified: the verdict comes, once, and the board with it."""

from tests.crash.driving import Ground, site, travel


def test_undisturbed_it_is_verified_and_published_once(ground: Ground):
    with site(ground=ground, instrumented=False) as going:
        outcome = travel(site=going, journey="by_own_worker").outcome
    own, again = outcome["evaluations"]
    assert (own["state"], own["reason"]) == ("completed", "verified")
    assert (again["state"], again["reason"]) == ("completed", "run_again")
    (verification,) = outcome["verifications"]
    assert (verification["verdict"], verification["tasks"]) == ("agrees", ["0", "1", "2", "3", "4"])
    (board,) = outcome["boards"]
    assert [row["run_by_owner"] for row in board["rows"]] == [True]
