"""Pages and API of votes."""
