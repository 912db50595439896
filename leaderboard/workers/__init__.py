"""What concerns workers beside the queue: what they say while they work, and whose they are."""
