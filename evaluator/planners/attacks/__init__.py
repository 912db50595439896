"""What planners that try to score without solving are made of: attacks, what they know, and the floors below them.

The classes of flaws are in `evaluator.studies.audit`. Papers add attacks that know their own tools and judges: their
entry names a module in `ATTACKS`, which has a tuple of the same name of pairs of a class and an `Attack`.
"""
