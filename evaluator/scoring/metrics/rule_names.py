"""Names of the scores by rules (`evaluator.scoring.metrics.results`), in a module that is cheap to import."""

ANSWER, LABELS, BOXES, MASKS, SEGMENTS = "Answer", "Labels", "Boxes", "Masks", "Segments"
OUTLINES, DEPTH, NORMALS, POSE, EDIT = "Outlines", "Depth", "Normals", "Pose", "Edit"
READING = "Reading"
TRANSCRIPT, SOUND, DUB = "Transcript", "Sound", "Dub"
HIT, NAMED, REPLACED = "Hit", "Named", "Replaced"
PAGE = "Page"
VARIATION = "Variation"
"""The profile's ViT score, but 0 for a copy."""
RULE_NAMES = frozenset(
    {
        ANSWER, LABELS, BOXES, MASKS, SEGMENTS, OUTLINES, DEPTH, NORMALS, POSE, EDIT, READING, TRANSCRIPT, SOUND, DUB,
        HIT, NAMED, REPLACED,
        PAGE,
    }
)  # fmt: skip
"""Scores that every profile has."""
