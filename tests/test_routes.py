"""The table of routes has an entry for every route, and no other."""

from tests.routes import TABLE, named_routes, patterns, table

SITE = "leaderboard.wiring.urls"
OLD = ("accounts/social/", "admin/")
"""Where addresses have no names: django-allauth's and Django's own former ones, which lead to the present ones."""


def test_every_route_has_an_entry():
    missing = {name for name, _ in named_routes(SITE)} - table().keys()
    assert not missing, f"give these routes an entry in tests/{TABLE.name}: {', '.join(sorted(missing))}"


def test_every_entry_has_a_route():
    gone = table().keys() - {name for name, _ in named_routes(SITE)}
    assert not gone, f"tests/{TABLE.name} has entries of routes that there are no more: {', '.join(sorted(gone))}"


def test_every_route_has_a_name():
    nameless = [address for name, _, address in patterns(SITE) if name is None and not address.startswith(OLD)]
    assert not nameless, f"give these routes a name, and an entry in tests/{TABLE.name}: {', '.join(nameless)}"


def test_a_route_that_can_be_read_is_looked_at_or_says_why_not():
    both = [name for name, route in table().items() if route.visits and route.no_page]
    assert both == [], "these are both looked at and no page"
    unseen = [
        name for name, route in table().items()
        if "get" in route.statuses and not name.startswith("api:") and not route.visits and not route.no_page
    ]  # fmt: skip
    assert unseen == [], "give these `visits`, or say in `no_page` why they are none"
