"""What tasks count by planner: kept for each evaluation, served as data."""
