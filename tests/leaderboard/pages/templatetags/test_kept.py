"""Parts of pages that are rendered once."""

import pytest
from django.template import Context, Engine, TemplateSyntaxError

_ENGINE = Engine(libraries={"kept": "leaderboard.pages.templatetags.kept"})


class Counted:
    """A text that counts how often it is rendered."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.times = 0

    def __str__(self) -> str:
        self.times += 1
        return self.text


def _template(text: str):
    return _ENGINE.from_string("{% load kept %}" + text)


def test_a_part_is_rendered_once_for_each_key():
    template = _template("{% for key in keys %}{% kept key %}<{{ text }}>{% endkept %}{% endfor %}")
    text = Counted("a & b")
    assert template.render(Context({"keys": "xyx", "text": text})) == "<a &amp; b>" * 3
    assert text.times == 2


def test_equal_keys_of_other_types_are_other_keys():
    template = _template("{% for key in keys %}{% kept key %}{{ key }} {% endkept %}{% endfor %}")
    assert template.render(Context({"keys": [1, True, 1.0, "1"]})) == "1 True 1.0 1 "


def test_places_with_the_same_key_do_not_share_what_they_keep():
    template = _template("{% kept key %}one{% endkept %}{% kept key %} two{% endkept %}")
    assert template.render(Context({"key": "same"})) == "one two"


def test_what_is_kept_with_escaping_is_not_shown_without_it():
    template = _template("{% kept key %}{{ text }}{% endkept %}")
    told = {"key": "k", "text": "<b>"}
    assert template.render(Context(told)) == "&lt;b&gt;"
    assert template.render(Context(told, autoescape=False)) == "<b>"


def test_a_part_needs_a_key():
    with pytest.raises(TemplateSyntaxError, match="needs at least one key"):
        _template("{% kept %}text{% endkept %}")
