"""The Django project: accounts, catalogue, planners, evaluations, boards and the API."""
