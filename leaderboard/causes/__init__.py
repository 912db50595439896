"""Causes of scores below the gold score: updates when gold scores change, and counts for boards."""
