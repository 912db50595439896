"""The worker, which only uses the HTTP API, and the launchers that start it. No Django, no database."""
