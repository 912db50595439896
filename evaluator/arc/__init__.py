"""ARC: demonstrations of a transformation of grids, and the programs that planners write for it."""
