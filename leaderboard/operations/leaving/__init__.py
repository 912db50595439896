"""Taking one's data along, closing an account, and deleting it."""
