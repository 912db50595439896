"""Older snapshots are stored as differences, and say what they said."""

import copy
import random
from itertools import pairwise

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from evaluator.core import canonical_json
from leaderboard.boards import packing
from leaderboard.boards.contents import contents_of
from leaderboard.boards.differences import pack, unpack
from leaderboard.boards.models import Snapshot
from leaderboard.boards.packing import replace_owner
from leaderboard.boards.services import publish
from leaderboard.platform.lru_cache import clear_all
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
)

_VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([0.0, 1.0, 0.1]) | st.text(max_size=2)
_ROW = st.fixed_dictionaries(
    {"evaluation": st.sampled_from("abcdef")},
    optional={name: _VALUES | st.dictionaries(st.sampled_from("mn"), _VALUES) for name in ("rank", "kind", "metrics")},
)
_CONTENT = st.fixed_dictionaries(
    {"coverage": st.dictionaries(st.sampled_from(["run", "total"]), st.integers(0, 9))},
).flatmap(
    lambda top: st.lists(_ROW, max_size=6, unique_by=lambda row: row["evaluation"]).map(
        lambda rows: {**top, "rows": rows}
    )
)


@given(content=_CONTENT, base=st.none() | _CONTENT)
def test_a_content_comes_back_as_it_was(content, base):
    before = copy.deepcopy(base)
    found = unpack(pack(content, base=base), base=base)
    assert canonical_json.dumps(found) == canonical_json.dumps(content)
    assert base == before, "contents are shared, and are not changed"


def made_up_row(number: int, *, rng: random.Random) -> dict:
    """As large as rows of real boards are."""
    metrics = {
        name: {"mean": rng.random(), "low": rng.random(), "high": rng.random(), "tasks": 185}
        for name in ("overall", "clip", "bert", "vit", "validity", "steps")
    }
    return {
        "rank": number + 1, "rank_low": number + 1, "rank_high": number + 3, "rank_tests": 1_999_000,
        "planner": f"planner {number}", "kind": "endpoint", "owner": f"user-{number % 300}",
        "evaluation": f"{rng.getrandbits(128):032x}", "finished": "2026-03-01T12:00:00+00:00", "samples": 32,
        "metrics": metrics, "outcomes": {"scored": 180, "planner_fault": 5}, "strategy": "openagi/few-shot",
        "model_name": f"model-{number % 40}", "usage": {"seconds": rng.random() * 100, "calls": 1.0},
    }  # fmt: skip


def next_content(content: dict, *, rng: random.Random) -> dict:
    """One planner has a new evaluation, and another rank; all between have moved by one."""
    rows = [dict(row) for row in content["rows"]]
    moved = made_up_row(0, rng=rng)
    rows.pop(rng.randrange(len(rows)))
    rows.insert(rng.randrange(len(rows)), moved)
    for rank, row in enumerate(rows, 1):
        row |= {"rank": rank, "rank_low": rank, "rank_high": rank + 2}
    return {**content, "rows": rows}


def test_fifty_snapshots_of_two_thousand_planners_take_less_than_three_whole_ones():
    rng = random.Random(0)
    content = {"rows": [made_up_row(number, rng=rng) for number in range(2000)], "coverage": {"run": 171, "total": 185}}
    contents = [content]
    for _ in range(2):
        contents.append(next_content(contents[-1], rng=rng))
    whole = len(canonical_json.dumps(contents[-1]))
    keyframe = len(pack(contents[0], base=None))
    differences = [len(pack(one, base=after)) for one, after in pairwise(contents)]
    links = packing._MOST_LINKS
    fifty = whole + 50 / links * keyframe + 50 * (links - 1) / links * max(differences)
    assert fifty < 3 * whole, (whole, keyframe, differences)
    assert unpack(pack(contents[0], base=contents[1]), base=contents[1]) == contents[0]


@pytest.fixture
def board(monkeypatch):
    """Number, digest and content of the seven snapshots of a board of two planners, of which every third is whole."""
    monkeypatch.setattr(packing, "_MOST_LINKS", 3)
    suite, planners = make_suite(), [make_planner(owner=make_user(name), name=name) for name in ("ada", "bea")]
    told = []
    for number in range(7):
        score = 0.2 + number / 10
        made = publish(make_evaluation(planner=planners[number % 2], suite=suite, summary=make_summary(score)))
        told.append((made.number, made.digest, canonical_json.dumps(made.content)))
    clear_all()
    return told


def said() -> list[tuple]:
    rows = Snapshot.objects.order_by("number")
    return [(one.number, one.digest, canonical_json.dumps(one.content)) for one in rows]


@pytest.mark.django_db
class TestABoard:
    def test_only_the_newest_is_stored_whole_and_all_say_what_they_said(self, board):
        stored = Snapshot.objects.order_by("number").values_list("stored", "packed", "base__number", "links")
        assert [one is None for one, *_ in stored] == [True] * 6 + [False]
        assert [base for *_, base, _ in stored] == [2, 3, None, 5, 6, None, None]
        assert said() == board
        assert all(canonical_json.digest(one.content) == one.digest for one in Snapshot.objects.all())
        contents = contents_of(Snapshot.objects.all())
        rows = {one.number: list(contents[one.pk].rows) for one in Snapshot.objects.all()}
        assert rows == {one.number: one.content["rows"] for one in Snapshot.objects.all()}

    def test_a_packed_content_is_read_in_one_query(self, board, django_assert_num_queries):
        oldest = Snapshot.objects.get(number=1)
        with django_assert_num_queries(1):
            assert len(oldest.content["rows"]) == 1

    def test_the_api_and_the_page_serve_old_snapshots(self, board):
        suite = Snapshot.objects.first().suite.slug
        told = Client().get(f"/api/v1/boards/{suite}/snapshots/1/").json()
        assert (told["digest"], canonical_json.dumps(told["content"])) == board[0][1:]
        assert "ada" in Client().get(f"/boards/{suite}/snapshots/1/").content.decode()

    def test_the_name_of_a_deleted_user_goes_from_packed_snapshots_too(self, board):
        assert replace_owner(before="ada", after="deleted user 0badcafe") == 7
        assert all(canonical_json.digest(one.content) == one.digest for one in Snapshot.objects.all())
        owners = {row["owner"] for one in Snapshot.objects.all() for row in one.content["rows"]}
        assert owners == {"deleted user 0badcafe", "bea"}
        assert Snapshot.objects.filter(packed=None).count() == 1
