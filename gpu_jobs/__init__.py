"""The worker, which speaks HTTP to the API only, and the launchers that start it. No Django, no database."""
