"""How reliable a planner is: whether it would do the same again, and with another form of the request, and whether its
confidence says when it is right.

The measures are those of "Towards a Science of AI Agent Reliability" (arXiv 2602.16666), for planners: plans are
compared as graphs, and requests are perturbed without changing their meaning.

- `PERTURBATIONS`, `perturbation_named`, `perturbations_of`: which forms of requests there are, and of a suite.
- `PerturbedEvaluator`, `not_perturbed`: one perturbed evaluation, from the perturbation's name alone.
- `profile_of`: the profile from the records of runs, live or stored.
- `Study`, `reliability`: all runs of a profile in one process.
"""
