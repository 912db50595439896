"""What planners answer ARC's tasks with: programs, steps, or the output grids themselves."""
