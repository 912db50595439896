"""Pages, forms and API of users, teams and tokens."""
