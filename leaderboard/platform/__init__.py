"""What every room needs and what knows nothing of the arena: settings, HTTP, storage, coordination."""
