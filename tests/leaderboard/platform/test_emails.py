"""Emails as text and HTML."""

import re
from html import unescape

from django.core.mail import EmailMultiAlternatives

from leaderboard.platform.emails import as_html, multipart

TEXT = """Your evaluation of <b>me</b> on toolmini failed.

- API token one
- API token two

Open the evaluation: https://arena.example/evaluations/1/?a=1&b=2

See https://arena.example/docs/. First line
second line

-- 
You get this email because you submitted the planner.
Choose which emails you get: https://arena.example/webhooks/
"""  # noqa: W291 - the line before the small print ends with a space


def words(html: str) -> str:
    """The visible text, without spaces."""
    body = html.partition("<body>")[2]
    return "".join(unescape(re.sub(r"<[^>]+>", "", body)).split())


def test_html_has_every_word_of_the_text_escaped_and_loads_nothing():
    html = as_html(subject="It <i>failed</i>", text=TEXT)
    shown = words(html)
    for line in TEXT.replace("-- \n", "").splitlines():
        for part in re.split(r": (?=https://)", line.removeprefix("- ")):
            assert "".join(part.split()) in shown, part
    assert "<b>me</b>" not in html
    assert "It &lt;i&gt;failed&lt;/i&gt;" in html
    assert re.findall(r"<(?:img|script|link|iframe)\b|\ssrc=|url\(|@import", html) == []


def test_an_address_after_a_label_is_a_button_others_are_links_and_the_small_print_is_below():
    html = as_html(subject="s", text=TEXT)
    button = '<a class="button" href="https://arena.example/evaluations/1/?a=1&amp;b=2">Open the evaluation</a>'
    assert html.count('class="button"') == 1
    assert button in html
    assert '<a href="https://arena.example/docs/">https://arena.example/docs/</a>. First line<br>' in html
    assert "<li>API token one</li>" in html
    footer = html.partition("<footer>")[2]
    assert "because you submitted the planner" in footer
    assert '<a href="https://arena.example/webhooks/">' in footer


def test_only_web_addresses_become_links():
    html = as_html(subject="s", text='Open it: javascript:alert(1)\n\nfile:///etc/passwd "https://a.example/"onclick=x')
    assert re.findall(r'href="([^"]*)"', html) == ["https://a.example/"]


def test_the_message_has_both_parts():
    message = multipart(subject="s", text="A text.\n", to=["ada@example.org"])
    assert isinstance(message, EmailMultiAlternatives)
    parts = [part.get_content_type() for part in message.message().walk()]
    assert parts == ["multipart/alternative", "text/plain", "text/html"]
