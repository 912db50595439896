"""Search over suites, planners, evaluations, tasks and the documentation."""
