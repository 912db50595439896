"""Names of the scores by rules (`evaluator.scoring.metrics.results`). Apart, since the site needs nothing else of
them."""

ANSWER, LABELS, BOXES, MASKS, SEGMENTS = "Answer", "Labels", "Boxes", "Masks", "Segments"
OUTLINES, DEPTH, NORMALS, POSE, EDIT = "Outlines", "Depth", "Normals", "Pose", "Edit"
READING = "Reading"
VARIATION = "Variation"
"""The ViT score, but 0 for a copy: made of the profile's ViT score."""
RULE_NAMES = frozenset({ANSWER, LABELS, BOXES, MASKS, SEGMENTS, OUTLINES, DEPTH, NORMALS, POSE, EDIT, READING})
"""They are there under every profile."""
