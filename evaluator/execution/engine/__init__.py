"""The engine: executes the distinct calls of many plans in batches, through a content-addressed store."""
