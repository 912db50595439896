"""Figures that papers report: below the ranking, never in it, and away when they are to be hidden."""

import re

import pytest
from django.test import Client

from evaluator.controlllm.toolbench.mini.requests import toolmini_tasks
from evaluator.controlllm.toolbench.suite import tool_suite
from evaluator.core.suites.reference_rows import reference_tables
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from tests.leaderboard.evaluations.web.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
    read,
)

pytestmark = pytest.mark.django_db
BOARD = "/boards/openagi/"


def ranking(html: str) -> str:
    """The rows that were measured, without addresses, which hold the page's own parameters."""
    body = html.split("<tbody>")[1].split("</tbody>")[0]
    return re.sub(r'href="[^"]*"', "", body)


def reported_names(html: str) -> list[str]:
    return re.findall(r'class="reported-name">([^<]+)<', html)


def make_tool_board(slug: str) -> None:
    """A board of a suite of ControlLLM's, whose own files cannot be in this repository."""
    register_suite(tool_suite(slug=slug, title=slug.title(), description="", raw=toolmini_tasks()[:3]))
    suite = Suite.objects.get(slug=slug, current=True)
    Snapshot.objects.create(
        suite=suite, profile="none", profile_digest="", split="all", samples=1, number=1,
        content={"rows": [], "coverage": {"run": 3, "total": 3}, "summary": {"leaders": 0}}, digest="d" * 64,
    )  # fmt: skip


def test_the_rows_of_openagis_table_are_below_the_ranking_with_figures_of_another_definition_marked(client: Client):
    """The ranking column is the first of another definition."""
    make_board()
    html = read(client, f"{BOARD}?column=overall&column=ViT&column=BERT&column=CLIP")
    assert reported_names(html) == [row.name for row in reference_tables("openagi")[0].rows]
    assert html.index("planner of bea") < html.index("Reported in OpenAGI, Table 5, not run here and not ranked")
    row = html.split("Flan-T5-Large, RLTF")[1].split("</tr>")[0]
    assert "reported, not run" in row
    assert re.findall(r'<span class="value">([^<]+)<', row) == ["0.2554", "0.3059"]
    assert re.findall(r'class="value other">([^<]+)</span><a class="range-text"', row) == ["0.3446", "0.6551"]
    assert row.index('class="primary-column forest-cell"') < row.index("0.3446")
    assert " ".join(row.split()).count(">other definition</a>") == 2
    below = html.split('id="reported"')[1]
    # A figure that the table shows is not repeated.
    assert "0.6551" not in below
    assert "0.3446" not in below
    for text in ("takes a distance between hidden states", "https://arxiv.org/abs/2304.04370"):
        assert text in below


def test_hiding_them_changes_nothing_of_the_ranking(client: Client):
    make_board()
    shown, hidden = read(client, BOARD), read(client, BOARD, reference="hide")
    assert ranking(shown) == ranking(hidden)
    assert reported_names(hidden) == []
    assert 'id="reported"' not in hidden
    for address in (f"{BOARD}snapshots/2/", "/"):
        assert reported_names(read(client, address)) == [], "only what was measured"


def test_no_ranking_counts_them(client: Client):
    """A planner far worse than every paper's figure is still first of one."""
    suite = make_suite()
    summary = make_summary(0.1)
    snapshot = publish(
        make_evaluation(planner=make_planner(owner=make_user(), name="poor"), suite=suite, summary=summary)
    )
    assert [row["rank"] for row in snapshot.content["rows"]] == [1]
    assert snapshot.content.keys() == {"rows", "coverage", "summary"}
    assert [row["planner"] for row in snapshot.content["rows"]] == ["poor"]


def test_the_api_gives_them_apart_from_the_snapshot(client: Client):
    _, snapshot = make_board()
    response = client.get("/api/v1/boards/openagi/")
    board = response.json()
    assert board["content"] == snapshot.content
    (table,) = board["reference"]
    assert table["name"] == "Table 5"
    assert table["rows"][7] == {
        "name": "Flan-T5-Large, RLTF",
        "figures": {"CLIP": 0.3059, "BERT": 0.2554, "ViT": 0.6551, "overall": 0.3446},
        "note": "",
    }
    assert [column["board_column"] for column in table["columns"]] == ["CLIP", "BERT", None, None]
    assert response.headers["ETag"] != f'"{snapshot.digest}"'


def test_tool100_has_three_tables_in_its_columns(client: Client):
    make_tool_board("tool100")
    html = read(client, "/boards/tool100/")
    assert len(reported_names(html)) == 7 + 6 + 4
    row = html.split(">HuggingGPT<")[1].split("</tr>")[0]
    assert re.findall(r'<span class="value">([^<]+)<', row) == ["0.59", "0.45", "0.64", "0.16", "0.69"]
    assert "Three annotators voted" in html
    below = html.split('id="reported"')[1]
    assert "SE, hard" in below
    assert "it may be a misprint" in below


def test_tool2ks_figures_are_in_no_column_of_its_board(client: Client):
    make_tool_board("tool2k")
    html = read(client, "/boards/tool2k/")
    assert reported_names(html) == []
    below = html.split('id="reported"')[1]
    assert all(figure in below for figure in ("8.19", "93.99 %", "1 to 10"))
