"""Public pages of people, teams and planners: what they tell of themselves, and what they measured here."""
