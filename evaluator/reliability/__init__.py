"""Reliability of planners: consistency between runs, robustness to perturbed requests, and calibration of confidence.

The measures are those of "Towards a Science of AI Agent Reliability" (arXiv 2602.16666), applied to planners: plans are
compared as graphs, and perturbations preserve the meaning of requests.

- `PERTURBATIONS`, `perturbation_named`, `perturbations_of`: all perturbations, and those of a suite.
- `PerturbedEvaluator`, `not_perturbed`: a perturbed evaluation, by the name of the perturbation.
- `profile_of`: the profile from the records of runs.
- `Study`, `reliability`: all runs of a profile in one process.
"""
