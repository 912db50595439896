"""Submitting planners, running them again, hiding and releasing what they achieved."""
