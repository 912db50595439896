"""The planner systems of the papers as strategies over any language model."""
