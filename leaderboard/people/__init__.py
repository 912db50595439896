"""Users, teams, credentials and how people sign in."""
