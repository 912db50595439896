import numpy as np

from evaluator.miniature.pictures.maps import normal_map, outlines
from evaluator.miniature.pictures.skeleton import JOINT_COLOURS, LIMB_COLOURS, draw_skeleton, read_skeleton
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.drawing import Content, draw_tableau
from evaluator.miniature.tableaux.records import LIMBS, Joint


def figure_joints(index):
    return draw_tableau(split=Split.VALIDATION, index=index, content=Content.FIGURE).figure.joints


def farthest(found, joints):
    return max(float(np.hypot(*np.subtract(found[joint], joints[joint]))) for joint in Joint)


def test_joints_are_read_from_the_picture_within_one_and_a_half_pixels():
    away = {}
    for index in range(40):
        joints = figure_joints(index)
        away[index] = farthest(read_skeleton(draw_skeleton(joints=joints, size=(64, 64))), joints)
    assert {index: pixels for index, pixels in away.items() if pixels > 1.5} == {}


def test_a_black_picture_has_no_skeleton():
    assert read_skeleton(np.zeros((64, 64, 3), dtype=np.uint8)) is None


def test_a_hidden_joint_is_where_the_one_that_hides_it_is():
    joints = dict(figure_joints(0))
    joints[Joint.LEFT_HAND] = joints[Joint.RIGHT_FOOT]
    found = read_skeleton(draw_skeleton(joints=joints, size=(64, 64)))
    assert np.hypot(*np.subtract(found[Joint.LEFT_HAND], joints[Joint.LEFT_HAND])) <= 2.5


def test_colours_are_far_enough_apart_to_be_told_from_each_other():
    colours = np.asarray([(0, 0, 0), *LIMB_COLOURS, *JOINT_COLOURS.values()], dtype=float)
    away = np.linalg.norm(colours[:, None] - colours[None], axis=-1)
    assert away[~np.eye(len(colours), dtype=bool)].min() > 48
    assert len(LIMB_COLOURS) == len(LIMBS)


def test_a_skeleton_whose_levels_are_a_little_off_is_read_the_same():
    joints = figure_joints(3)
    picture = draw_skeleton(joints=joints, size=(64, 64))
    noisy = np.clip(picture.astype(int) + np.random.default_rng(0).integers(-8, 9, picture.shape), 0, 255)
    assert read_skeleton(noisy.astype(np.uint8)) == read_skeleton(picture)


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


HALVES = np.zeros((64, 64, 3), dtype=np.uint8)
HALVES[:, 32:] = (220, 40, 40)


def test_a_soft_step_becomes_one_at_the_edge_of_the_picture():
    from evaluator.miniature.pictures.strokes import levelled

    across = np.arange(64, dtype=np.float32)
    soft = np.tile(1 / (1 + np.exp(-(across - 29) / 3)), (64, 1)).astype(np.float32)
    found = levelled(soft, pixels=HALVES, scale=10)
    steps = np.flatnonzero(np.abs(np.diff(found[0])) > 0.01)
    assert steps.tolist() == [31]
    assert np.flatnonzero(np.abs(np.diff(soft[0])) > 0.01).size > 10
    assert found.dtype == np.float32
    assert found[0, 0] < 0.2 < 0.8 < found[0, -1]


def test_an_even_picture_has_one_level():
    from evaluator.miniature.pictures.strokes import levelled

    values = np.random.default_rng(0).random((32, 48), dtype=np.float32)
    found = levelled(values, pixels=np.full((32, 48, 3), 90, dtype=np.uint8), scale=10)
    assert found.shape == (32, 48)
    assert np.unique(found).tolist() == [np.float32(np.median(values))]


def test_normals_point_away_from_what_rises():
    flat = np.zeros((64, 64), dtype=np.float32)
    assert (normal_map(flat) == (128, 128, 255)).all()
    flat[:, 32:] = 1
    slope = normal_map(flat)[10, 32]
    assert slope[0] < 64
    assert slope[1] == 128
