"""Tableaux: scenes in which things overlap and repeat, stick figures pose, and clips in which one thing moves.

Scenes (`evaluator.miniature.scenes`) keep their objects apart, so that one name means one object. Tableaux are for what
needs more: counting, masks, depth, poses and motion.
"""
