"""The shop: pages without hidden state, and what a purchase is worth."""

import pytest

from evaluator.lumos.mini.shop import Goal, Item, PageError, Shop, address_of, click, reward, search_page


def item(key: str, **changes: object) -> Item:
    values = {
        "key": key, "title": f"Elm waterproof lined {changes.get('noun', 'coat')}", "noun": "coat",
        "category": "clothes",
        "features": ("waterproof", "lined", "woollen", "windproof"), "colours": ("red", "blue"),
        "sizes": ("small", "large"), "coins": 20,
    }  # fmt: skip
    return Item(**{**values, **changes})


SMALL = Shop((item("W000"), *(item(f"W{number:03d}", noun="hat") for number in range(1, 8))))


def test_a_way_through_the_shop_ends_with_a_purchase():
    page = search_page(shop=SMALL, query="waterproof coat")
    assert page.splitlines()[2] == "[1] W000 Elm waterproof lined coat, 20 coins"
    page = click(shop=SMALL, address=address_of(page), element="1")
    assert "Colour: [red] [blue]" in page
    for element in ("[Red]", "large"):
        page = click(shop=SMALL, address=address_of(page), element=element)
    assert "[red] (chosen)" in page
    page = click(shop=SMALL, address=address_of(page), element="buy now")
    assert page.splitlines() == [
        "Address: /bought/W000?colour=red&size=large",
        "Bought W000 Elm waterproof lined coat for 20 coins: colour red, size large.",
    ]


def test_results_have_pages_and_an_item_leads_back_to_its_own():
    first = search_page(shop=SMALL, query="waterproof hat")
    second = click(shop=SMALL, address=address_of(first), element="next page")
    assert "Results 6 to 8 of 8." in second
    assert "[previous page]" in second
    opened = click(shop=SMALL, address=address_of(second), element="2")
    assert click(shop=SMALL, address=address_of(opened), element="back to results") == second


@pytest.mark.parametrize(
    ("page", "element", "says"),
    [
        ("/search?q=hat&page=1", "9", "the page has no element '9'; it has: 1 (W001)"),
        ("/search?q=hat&page=1", "previous page", "there is no page 0; there are 2"),
        ("/item/W000", "green", "the page has no element 'green'; it has: red, blue, small, large, buy now"),
        ("/item/W000?colour=red", "buy now", "the size is not chosen yet; there are: small, large"),
        ("/item/W000?colour=green", "small", "the item has no such colour"),
        ("/item/W999", "red", "there is no item 'W999'"),
        ("/bought/W000?colour=red&size=large", "buy now", "the order is complete"),
    ],
)
def test_an_element_that_is_not_there_is_refused_with_those_that_are(page, element, says):
    with pytest.raises(PageError, match=r".*") as caught:
        click(shop=SMALL, address=address_of(page), element=element)
    assert says in str(caught.value)


@pytest.mark.parametrize("text", ["", "R1", "/admin", "/item", "/search/W000", "/item/W000?page=x", "http://x/item/W1"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(PageError):
        address_of(text)


GOAL = Goal(noun="coat", features=("lined", "woollen"), colour="red", size="large", most=20)


@pytest.mark.parametrize(
    ("changes", "chosen", "worth"),
    [
        ({}, {"colour": "red", "size": "large"}, 1.0),
        ({}, {"colour": "blue", "size": "large"}, 4 / 5),
        ({}, {}, 3 / 5),
        ({"coins": 21}, {"colour": "red", "size": "large"}, 4 / 5),
        ({"features": ("lined",)}, {"colour": "red", "size": "large"}, 4 / 5),
        ({"noun": "hat"}, {"colour": "red", "size": "large"}, 0.0),
    ],
)
def test_the_reward_is_the_share_of_what_is_met(changes, chosen, worth):
    assert reward(goal=GOAL, item=item("W000", **changes), chosen=chosen) == pytest.approx(worth)
