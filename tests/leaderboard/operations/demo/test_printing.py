"""The board that the demo prints."""

import io

import pytest
from rich.console import Console

from leaderboard.operations.demo.progress import print_board
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
    publish,
)

pytestmark = pytest.mark.django_db


def test_no_figure_of_a_printed_board_is_cut():
    suite = make_suite()
    summary = make_summary(0.7)
    value = summary["metrics"]["overall"]
    summary["metrics"] |= {column.key: value for column in suite.shown_columns}
    name = "openagi/nonlinear:lilliput-planner/finetuned"
    publish(make_evaluation(planner=make_planner(owner=make_user(), name=name), suite=suite, summary=summary))
    out = io.StringIO()
    print_board(console=Console(file=out), url="https://arena.example", suite=suite.slug)
    printed = out.getvalue()
    assert name in printed
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed
    assert f"https://arena.example/boards/{suite.slug}/" in printed
