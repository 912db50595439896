"""Exact arithmetic and algebra on texts, with bounds on size and work; nothing is ever evaluated as code."""
