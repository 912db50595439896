"""The API of rewards."""
