"""The functions that ARC programs may call: their source for the sandbox, and their signatures for planners."""
