"""Agents over the Model Context Protocol: `/mcp/`, and the turns between a worker and an agent.

A worker opens turns by calls of its attempt (`worker_api`); the agent reads and answers them at `/mcp/` (`door`). All
state is in the database, so that web processes and workers may be killed at any time.
"""
