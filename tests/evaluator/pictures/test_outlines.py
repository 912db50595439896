import numpy as np

from evaluator.pictures.outlines import outlines


def test_a_line_lies_on_the_part_and_not_on_the_background():
    owner = np.full((7, 7), -1)
    owner[2:5, 2:5] = 0
    edges = outlines(owner)
    ring = owner == 0
    ring[3, 3] = False
    assert np.array_equal(edges, ring)


def test_between_two_parts_the_line_lies_on_the_nearer_one():
    owner = np.zeros((4, 6), dtype=np.int8)
    owner[:, 3:] = 1
    edges = outlines(owner)
    assert edges[:, 3].all()
    assert edges.sum() == 4


def test_what_reaches_the_border_of_the_picture_has_no_line_there():
    assert not outlines(np.zeros((5, 5), dtype=np.int64)).any()


def test_pictures_of_a_batch_are_kept_apart():
    owner = np.full((2, 5, 5), -1)
    owner[1, 2, 2] = 0
    edges = outlines(owner)
    assert not edges[0].any()
    assert edges[1].sum() == 1
