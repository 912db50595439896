import numpy as np

from evaluator.pictures.skeleton import JOINT_COLOURS, LIMB_COLOURS, draw_skeleton, read_skeleton
from evaluator.world.seeds import Split
from evaluator.world.tableaux import Content, Joint, draw_tableau
from evaluator.world.tableaux.records import LIMBS


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
