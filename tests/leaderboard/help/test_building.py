"""Chapters and search index are built when a web process starts."""

import pytest

from leaderboard.help.documents import building
from leaderboard.help.documents.chapters import BY_SLUG, page_of
from leaderboard.help.documents.search import documentation


def test_all_chapters_and_the_index_are_built_and_a_failing_part_stops_nothing(monkeypatch, caplog):
    built = []

    def page(slug):
        built.append(slug)
        if slug == "tutorial":
            raise OSError("unreadable")

    monkeypatch.setattr(building, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(building, "page_of", page)
    monkeypatch.setattr(building, "documentation", lambda: built.append("index"))
    monkeypatch.setattr(building, "suite_of", built.append)
    building.build()
    assert built[0] == "index"
    assert set(BY_SLUG) < set(built)
    assert {"suites", "cli"} & set(built[-6:]) == {"suites", "cli"}
    assert "a part of the documents cannot be built" in caplog.text


@pytest.mark.django_db
def test_after_the_build_no_reader_builds_anything(client, monkeypatch):
    monkeypatch.setattr(building, "_PAUSE_SECONDS", 0)
    building.build_in_background().join(120)
    before = page_of.cache_info().misses, documentation.cache_info().misses
    for path in ("/docs/suites/", "/docs/cli/", "/search/?q=embargo&in=docs"):
        assert client.get(path).status_code == 200
    assert (page_of.cache_info().misses, documentation.cache_info().misses) == before
