"""The reliability profile of a planner: its page, plots and API."""
