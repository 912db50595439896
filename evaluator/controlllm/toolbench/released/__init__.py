"""ControlLLM's released files: fetching, reading, and their known defects."""
