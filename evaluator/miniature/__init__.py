"""Lilliput, the miniature world: scenes of coloured shapes, their degradations, and tiny models trained on them.

Importing this package loads no model code; `evaluator.studies.experts` trains the models.
"""
