"""Scores of results whose right value is known exactly: counts, labels, boxes, masks, maps, edits. No model is asked.

Every score lies in [0, 1] and is 1 for the right value.
"""
