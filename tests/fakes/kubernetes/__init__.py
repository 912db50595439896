"""A cluster that is not there: its API server, what it admits, and its controllers."""
