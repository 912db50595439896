import numpy as np
import pytest

from evaluator.training.experts.quality.maps import edge_scores, joint_share, ordered_rightly
from evaluator.world.seeds import Split
from evaluator.world.tableaux import Content, draw_tableau


def figure():
    return draw_tableau(split=Split.VALIDATION, index=0, content=Content.FIGURE).figure


def column(at):
    edges = np.zeros((1, 8, 8), dtype=np.bool_)
    edges[:, :, at] = True
    return edges


def test_edges_one_pixel_away_count_as_found_and_those_two_away_do_not():
    assert edge_scores(found=column(3), wanted=column(4))["F1 of edges within one pixel"] == pytest.approx(1)
    assert edge_scores(found=column(2), wanted=column(4))["F1 of edges within one pixel"] == 0


def test_precision_and_recall_are_told_apart():
    scores = edge_scores(found=column(1) | column(5), wanted=column(1))
    assert scores["precision of edges within one pixel"] == pytest.approx(0.5)
    assert scores["recall of edges within one pixel"] == pytest.approx(1)


def test_edges_do_not_reach_into_the_next_picture():
    found, wanted = np.zeros((2, 2, 4, 4), dtype=np.bool_)
    found[0], wanted[1] = True, True
    assert edge_scores(found=found, wanted=wanted)["precision of edges within one pixel"] == 0


def test_the_order_of_every_pair_of_visible_parts_counts():
    owner = np.asarray([[0, 0, 1, 1, 3, 3, -1]], dtype=np.int8)
    nearness = np.asarray([[0.4, 0.6, 0.3, 0.3, 0.9, 0.8, 0.0]])
    assert ordered_rightly(nearness=nearness, owner=owner, parts=4) == [False, True, True]


def test_a_joint_is_found_within_the_unit_and_a_figure_that_is_not_seen_has_none():
    one = figure()
    shifted = {joint: (x + 3.0, y) for joint, (x, y) in one.joints.items()}
    assert joint_share([(shifted, one)], unit=lambda _: 3.1) == 1
    assert joint_share([(shifted, one)], unit=lambda _: 2.9) == 0
    assert joint_share([(shifted, one), (None, one)], unit=lambda _: 3.1) == 0.5
