"""Estimators of the policy gradient, and the pre-registered comparison of them.

- `advantages`: rewards to advantages
- `study`: every seed, start and estimator, trained and tested; `table`: what came of it

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []
