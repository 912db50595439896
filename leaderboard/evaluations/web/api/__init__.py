"""The API about evaluations, as their pages show them."""
