"""The workbench: anybody asks one request, chooses a planner, and watches its plan run on a worker."""
