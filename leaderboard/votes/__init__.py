"""Blind comparisons: people ask two planners the same request on the workbench, and vote before they see the names."""
