"""Whether two texts of plans mean the same: same, different, or undecided."""
