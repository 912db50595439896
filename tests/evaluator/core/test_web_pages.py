"""Web pages that tools make: what they hold, and what is refused."""

import pytest

from evaluator.core.web_pages import LARGEST_MARKUP, LARGEST_PAGE, Element, PageError, elements_of, page_of
from evaluator.scoring.metrics.web_pages import page_score


def page(**given):
    facts = {"title": "A dog", "description": "It runs.", "tags": ("dog", "park"), "picture": b"\x89PNG"}
    return page_of(**{**facts, "media_type": "image/png", **given})


def test_a_page_holds_what_it_was_made_from():
    assert elements_of(page()) == (
        Element("title", "A dog"), Element("heading", "A dog"), Element("picture", "data:image/png;base64,iVBORw=="),
        Element("text", "It runs."), Element("tag", "dog"), Element("tag", "park"),
    )  # fmt: skip


def test_texts_are_shown_and_never_run():
    hostile = "<script>alert(1)</script>\"' onload=x <img src=//a>"
    made = page(title=hostile, description=hostile, tags=(hostile,))
    assert "<script" not in made
    assert [element.content for element in elements_of(made) if element.kind == "tag"] == [hostile]


@pytest.mark.parametrize(
    ("inserted", "why"),
    [
        ("<script>alert(1)</script>", "a <script>"),
        ("<SCRIPT src='x'></SCRIPT>", "a <script>"),
        ("<p onclick='x()'>a</p>", "attribute onclick"),
        ("<p style='background:url(//a)'>a</p>", "attribute style"),
        ("<style>@import url(//a)</style>", "style of its own"),
        ("<iframe srcdoc='a'></iframe>", "a <iframe>"),
        ("<form action='/x'></form>", "a <form>"),
        ("<a href='javascript:x'>a</a>", "a <a>"),
        ("<meta http-equiv='refresh'>", "attribute http-equiv"),
        ("<img src='https://example.org/a.png'>", "not inside it"),
        ("<img src='data:image/svg+xml;base64,AAAA'>", "not inside it"),
        ("<img srcset='//a'>", "attribute srcset"),
        ("<img src='data:image/png;base64,A'>", "not base64"),
        ("<svg><circle/></svg>", "a <svg>"),
        ("<base href='//a'>", "a <base>"),
        ("<!-- <script> -->", "markup that is not read"),
        ("<?php x ?>", "markup that is not read"),
        ("<p onclick=x()>a</p>", "markup that is not read"),
        ("<![CDATA[<script>]]>", "markup that is not read"),
        ("<p>a</p></p>", "not open"),
        ("<section>" * 40, "nested more than"),
        ("<img src='data:image/png;base64,iVBORw=='>" * 4, "5 pictures"),
    ],
)
def test_what_is_not_passive_is_refused(inserted, why):
    hostile = page().replace("<ul>", f"{inserted}<ul>")
    with pytest.raises(PageError, match=why):
        elements_of(hostile)
    assert page_score(hostile, page()) == 0.0


@pytest.mark.parametrize("text", ["", "words", "<p>a</p>", "<html></html>", "<html><body>"])
def test_a_text_is_no_page(text):
    with pytest.raises(PageError, match="no HTML page"):
        elements_of(text)


@pytest.mark.parametrize("text", ["a" * (LARGEST_PAGE + 1), f"<html><body>{'a' * LARGEST_MARKUP}</body></html>"])
def test_sizes_are_bounded(text):
    with pytest.raises(PageError, match="at most"):
        elements_of(text)


@pytest.mark.parametrize(
    "part", ["<", "<p ", "<!", "<p a=", "<p a='", "</", "<p a='a' ", "<p  \t", "&", "&#", "<style>", "<html><body>&lt;"]
)
def test_malformed_markup_is_refused_at_once(part):
    with pytest.raises(PageError):
        elements_of(part * (LARGEST_PAGE // len(part)))


def test_a_page_that_would_be_too_large_is_not_made():
    with pytest.raises(ValueError, match="too large"):
        page(description="a" * LARGEST_MARKUP)


def test_pages_are_judged_by_their_elements():
    assert page_score(page(), page()) == 1.0
    without = page_score(page(tags=("dog",)), page())
    other = page_score(page(title="A cat", tags=("cat",), picture=b"\x89PN"), page())
    assert 0 < other < without < 1
    assert page_score(page(tags=("dog", "park", *"abcdef")), page()) < without
