"""The chapters of `docs/` as pages."""

import html
import re
from datetime import timedelta
from functools import cache
from html.parser import HTMLParser

from django.conf import settings as site
from django.test import Client

from evaluator.cli.main import leaves
from evaluator.controlllm.strategies.trained.networks import DECOMPOSER, SCORER
from evaluator.core.suites.registry import suite_names, suite_of
from evaluator.execution.experts.profile import NO_WEIGHTS, load_profile
from evaluator.planners.language_models.shipped import LUMOS_MODULES, VARIANTS
from leaderboard.help.documents import chapters
from leaderboard.help.documents.chapters import BY_SLUG, DOCS, EXAMPLES, anchor_of, page_of
from leaderboard.messages.dispatching import KEEP_GIVEN_UP, KEEP_SENT
from leaderboard.people.addresses import KEEP_UNCONFIRMED
from leaderboard.queue.jobs import KEPT


class Seen(HTMLParser):
    """Ids, and the targets of links, of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.tags = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.ids.add(found.get("id"))
        if tag == "a":
            self.links.append(found["href"])


def page(slug):
    answer = Client().get(f"/docs/{slug}/")
    assert answer.status_code == 200
    return Seen(answer.content.decode())


def test_every_link_of_a_chapter_leads_somewhere():
    @cache
    def ids_at(path):
        answer = Client().get(path, follow=True)
        return Seen(b"".join(answer).decode(errors="replace")).ids if answer.status_code == 200 else None

    broken = []
    assert set(BY_SLUG) == {path.stem for path in DOCS.rglob("*.md")}
    for slug in BY_SLUG:
        assert page(slug).tags.count("h1") == 1, slug
        for link in Seen(page_of(slug).html).links:
            path, _, anchor = link.partition("#")
            if not link.startswith(("https://", "http://")):
                ids = ids_at(path or f"/docs/{slug}/")
                broken += [(slug, link)] if ids is None or (anchor and anchor not in ids) else []
    assert broken == []


def test_the_overview_has_every_chapter_with_a_sentence_and_pictures_with_their_size():
    text = Client().get("/docs/").content.decode()
    found = Seen(text)
    assert {f"/docs/{slug}/" for slug in BY_SLUG} <= set(found.links)
    for chapter in BY_SLUG.values():
        assert chapter.about.endswith("."), chapter.slug
        assert html.escape(chapter.about) in text
    pictures = re.findall(r'<img src="([^"]+)"\s+width="(\d+)" height="(\d+)"', text)
    assert len(pictures) == 2
    for address, _, _ in pictures:
        assert Client().get(address).headers["Content-Type"] == "image/png"
    for heading in ("Read a board", "Submit in five minutes"):
        assert f">{heading}</h2>" in text
    assert "problems" in found.ids, "the type of API errors"


def test_html_in_a_chapter_is_text(tmp_path, monkeypatch):
    (tmp_path / "api.md").write_text("# A\n\n<script>alert(1)</script> [x](javascript:alert(1))\n")
    monkeypatch.setattr(chapters, "DOCS", tmp_path)
    page_of.cache_clear()
    try:
        html = page_of("api").html
    finally:
        page_of.cache_clear()
    assert "<script" not in html
    assert 'href="javascript' not in html


def test_datasheets_and_model_cards_follow_their_chapters():
    sheets = page_of("suites")
    appended = sheets.html.partition('id="datasheets-of-the-suites"')[2]
    titles = [html.escape(suite_of(slug).title) for slug in suite_names()]
    assert [title for title in re.findall(r"<h3[^>]*>(.*?)</h3>", appended) if title in titles] == titles
    assert "185 requests in English" in sheets.html
    cards = page_of("paper-profile")
    profile = load_profile("lilliput-sound")
    specs = (*profile.experts.values(), *profile.scorers.values())
    models = {spec.path.name for spec in specs if spec.weights_digest != NO_WEIGHTS}
    appended = cards.html.partition('id="model-cards"')[2]
    assert appended.count("<h3") == len(models) + len((*VARIANTS, *LUMOS_MODULES, "lumos-base", DECOMPOSER, SCORER))
    assert cards.html.count("Intended use: ") == len(models)


def test_headings_have_the_anchors_of_code_forges_and_no_two_of_a_chapter_the_same():
    assert anchor_of("`planarena` & more: what's there?") == "planarena--more-whats-there"
    for slug in BY_SLUG:
        ids = re.findall(r'<h\d id="([^"]+)"', page_of(slug).html)
        assert len(ids) == len(set(ids)), slug
    assert 'id="motivation-1"' in page_of("suites").html


def test_examples_are_given_as_plain_text_and_nothing_else_is():
    for path in EXAMPLES.rglob("*"):
        if path.is_file():
            answer = Client().get(f"/docs/examples/{path.relative_to(EXAMPLES)}")
            assert b"".join(answer) == path.read_bytes()
            assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    for name in ("../manage.py", "nothing", "ci", "%2e%2e/manage.py"):
        assert Client().get(f"/docs/examples/{name}").status_code == 404
    assert Client().get("/docs/nothing/").status_code == 404


def test_the_reference_has_every_call_that_people_make_and_none_of_the_workers():
    schema = Client().get("/api/v1/schema/?format=json").json()
    text = Client().get("/docs/reference/").content.decode()
    shown = set(re.findall(r'class="method mono">(\w+)</span> <code class="break">([^<]+)</code>', text))
    paths = {path: found for path, found in schema["paths"].items() if not path.startswith("/api/v1/worker/")}
    assert shown == {(method.upper(), path) for path, operations in paths.items() for method in operations}
    assert len(shown) > 30


def test_pictures_are_served_and_keep_their_place():
    (tag,) = re.findall(r"<img[^>]*>", page_of("tutorial").html)[:1]
    source = re.search(r'src="([^"]+)"', tag)[1]
    answer = Client().get(source)
    assert answer.headers["Content-Type"] == "image/png"
    assert b"".join(answer.streaming_content).startswith(b"\x89PNG")
    assert re.search(r'width="\d+"', tag)
    assert re.search(r'height="\d+"', tag)
    assert 'alt="A board' in tag
    assert Client().get("/docs/pictures/none.png").status_code == 404
    assert Client().get("/docs/pictures/..%2Ftutorial.md").status_code == 404


def test_every_command_is_in_the_reference_with_its_options():
    html = page_of("cli").html
    for words, command in leaves():
        assert f">planarena {words}</h2>" in html, words
        for parameter in command.params:
            option = parameter.opts[0]
            assert not option.startswith("-") or f"<code>{option}" in html, (words, option)


class TestPrivacy:
    """What the page says is true of this software."""

    TEXT = " ".join((DOCS / "privacy.md").read_text().split())

    def test_it_names_the_operator_and_their_contact(self, settings):
        settings.OPERATOR, settings.CONTACT = "Institute <of Planning>", "privacy@arena.example"
        page = Client().get("/docs/privacy/").content.decode()
        assert "Institute &lt;of Planning&gt;" in page
        assert 'href="mailto:privacy@arena.example"' in page

    def test_its_times_are_those_of_the_code(self):
        day, hour = timedelta(days=1), timedelta(hours=1)
        assert (day, hour, 7 * day) == (KEEP_SENT, KEPT, KEEP_UNCONFIRMED)
        for text in (
            f"as whom | staying signed in | {site.SESSION_COOKIE_AGE // 86_400} days",
            f"a day after they were sent, {KEEP_GIVEN_UP.days} days if they could not be",
            f"{site.UNUSED_CHECKPOINT_HOURS} hours if you do not submit them",
            "the result | an hour after they ended",
            "not confirmed within seven days",
        ):
            assert text in self.TEXT

    def test_it_names_every_cookie_that_the_site_sets(self, client, db):
        client.get("/accounts/login/")
        named = set(re.findall(r"`(\w+)`", self.TEXT))
        assert {site.SESSION_COOKIE_NAME, site.CSRF_COOKIE_NAME, "messages", *client.cookies} <= named
