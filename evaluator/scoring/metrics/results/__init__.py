"""Scores by rules for results with an exact reference: counts, labels, boxes, masks, maps, edits.

Every score is in [0, 1], and 1 for the right value.
"""
