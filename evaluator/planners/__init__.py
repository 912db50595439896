"""Planners: bundled ones, strategies with language models, agents, and the client of planner endpoints."""
