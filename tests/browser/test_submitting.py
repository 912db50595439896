"""The submit form in a browser."""

import pytest

from leaderboard.planners.fields import FIELD_TEMPLATE
from leaderboard.planners.kinds import FIELDS, KINDS, kinds_with
from tests.browser.looking import WIDE

pytestmark = pytest.mark.browser
_VISIBLE = (
    "() => [...document.querySelectorAll('.form [name]')].filter(one => one.checkVisibility()).map(one => one.name)"
)


def test_the_form_shows_the_fields_of_the_chosen_kind_only(lookers, site):
    looker = lookers[0]
    looker.open("/submit/", session=site.sessions["researcher"], width=WIDE)
    of_kinds = {field.name for field in FIELDS if kinds_with(field)}
    for name, kind in KINDS.items():
        looker.page.check(f"input[name=kind][value={name}]")
        visible = set(looker.page.evaluate(_VISIBLE)) & of_kinds
        assert visible <= {field.name for field in kind.fields}
        assert visible >= {field.name for field in kind.fields if field.on_page and field.template == FIELD_TEMPLATE}
