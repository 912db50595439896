"""Templates: their source, and parts that are rendered once."""

from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Engine
from django.template.loader import get_template

from leaderboard.platform.http.caching import LateParts
from leaderboard.platform.lru_cache import SharedCache
from leaderboard.platform.templatetags import kept

FOLDER = Path(settings.BASE_DIR) / "frontend" / "templates"
_ENGINE = Engine(libraries={"kept": "leaderboard.platform.templatetags.kept"})


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


def test_keys_of_other_types_long_keys_and_other_places_do_not_share_what_they_keep():
    template = _template("{% for key in keys %}{% kept key %}{{ key }} {% endkept %}{% endfor %}")
    assert template.render(Context({"keys": [1, True, 1.0, "1"]})) == "1 True 1.0 1 "
    template = _template("{% for key in keys %}{% kept key %}{{ key|slice:'-1:' }}{% endkept %}{% endfor %}")
    assert template.render(Context({"keys": ["x" * 500 + "a", "x" * 500 + "b", "x" * 500 + "a"]})) == "aba"
    template = _template("{% kept key %}one{% endkept %}{% kept key %} two{% endkept %}")
    assert template.render(Context({"key": "same"})) == "one two"


def test_what_is_kept_with_escaping_is_not_shown_without_it():
    template = _template("{% kept key %}{{ text }}{% endkept %}")
    told = {"key": "k", "text": "<b>"}
    assert template.render(Context(told)) == "&lt;b&gt;"
    assert template.render(Context(told, autoescape=False)) == "<b>"


class Row:
    """A row of a table, which shows a text."""

    def __init__(self, kept_key: str, text: str) -> None:
        self.kept_key = kept_key
        self.text = Counted(text)


_TABLE = "<table>\n  {% keptfor row in rows mark %}\n  <tr>\n    {{ row.text }}</tr>{% endkeptfor %}</table>"


def test_rows_are_rendered_once_in_whatever_order_they_come():
    one, two = Row("1", "a"), Row("2", "b & c")
    template = _template(_TABLE)
    assert template.render(Context({"rows": [one, two], "mark": 1})) == (
        "<table>\n  \n<tr>\na</tr>\n<tr>\nb &amp; c</tr></table>"
    )
    again = template.render(Context({"rows": [two, one], "mark": 1}))
    assert again.index("b &amp; c") < again.index("a</tr>")
    assert (one.text.times, two.text.times) == (1, 1)
    template.render(Context({"rows": [one], "mark": 2}))
    assert one.text.times == 2, "something else of the table has changed"


def test_rows_are_put_in_late_but_for_those_within_a_kept_part():
    template = _template(f"{{% kept key %}}{_TABLE}{{% endkept %}}\N{EN DASH}{_TABLE}")
    told = {"rows": [Row("1", "\N{RIGHTWARDS ARROW}")], "mark": 1, "key": "k"}
    late = LateParts()
    page = template.render(Context({**told, "late": late}))
    assert page.count("<tr>") == 1
    assert late.filled(page) == template.render(Context(told)).encode()
    assert LateParts().filled("nothing late") == b"nothing late"


def test_a_mark_is_replaced_by_a_text_that_is_escaped():
    template = _template('{% replacing "@x@" text %}{% kept 1 %}<a href="?@x@a">{% endkept %}{% endreplacing %}')
    assert template.render(Context({"text": "b&c="})) == '<a href="?b&amp;c=a">'
    assert template.render(Context({"text": "d="})) == '<a href="?d=a">'


@pytest.mark.parametrize("part", ["", "something"])
def test_strangers_cannot_fill_the_memory_with_addresses(monkeypatch, part):
    few = SharedCache(maxsize=10 * kept._OF_A_KEY, size_of=kept._size)
    monkeypatch.setattr(kept, "_parts", few)
    template = _template("{% kept address %}{{ part }}{% endkept %}")
    for number in range(50):
        assert template.render(Context({"address": f"/?{number}{'x' * 10_000}", "part": part})) == part
    assert len(few._values) <= 10
    assert all(len(text) <= kept._LONGEST for key in few._values for text in key if isinstance(text, str | bytes))


def test_every_template_can_be_read_and_shows_no_comment():
    """Comments and tags that go on in the next line are text to Django."""
    names = [str(path.relative_to(FOLDER)) for path in sorted(FOLDER.rglob("*.*"))]
    for name in names:
        get_template(name)
    broken = [
        f"{name}:{number}"
        for name in names
        for number, line in enumerate((FOLDER / name).read_text().splitlines(), start=1)
        if line.count("{#") != line.count("#}")
        or line.count("{%") != line.count("%}")
        # Texts of JSON have the end without the beginning.
        or line.rfind("{{") > line.rfind("}}")
    ]
    assert not broken
