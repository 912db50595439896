"""Rewards of plans on training splits, for users who train planners elsewhere."""
