"""Tableaux: scenes with overlapping and repeated things and stick figures, and clips in which one thing moves.

In scenes (`evaluator.miniature.scenes`) objects do not overlap and names are unique. Tableaux are for counting, masks,
depth, poses and motion.
"""
