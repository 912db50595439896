"""Exact arithmetic and algebra on texts, with bounds on size and work. Evaluates no code."""
