"""Shared by everything else: plans, tools, suites, values, records, contracts; utilities for commands."""
