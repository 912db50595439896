"""What planners answer ARC's tasks with: programs, steps, or the output grids themselves."""

from evaluator.suites.arc.candidates.forms import CANDIDATES, GRIDS, PROGRAM, STEPS
from evaluator.suites.arc.candidates.kept import Kept, Track, kept_of

__all__ = ["CANDIDATES", "GRIDS", "PROGRAM", "STEPS", "Kept", "Track", "kept_of"]
