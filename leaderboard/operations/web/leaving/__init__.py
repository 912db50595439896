"""Pages and API for closing an account."""
