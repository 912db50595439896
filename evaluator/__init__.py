"""The evaluation library and its CLI: plans, tools, suites, planners, experts, engine and metrics."""

__version__ = "0.1.0"
