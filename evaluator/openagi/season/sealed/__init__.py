"""Sealed requests of `openagi-season`: their goals, and a reader of their words by rules."""
