"""Search over boards, planners, evaluations and the documentation."""
