"""Agents over the Model Context Protocol: `/mcp/`, and the open turns that lie between a worker and an agent.

A worker opens turns by calls of its attempt (`worker_api`); the agent takes and answers them at `/mcp/` (`door`). Both
see rows only, so that any number of web processes and workers may be killed and go on.
"""
