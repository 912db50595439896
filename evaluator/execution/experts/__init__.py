"""Experts: models that implement the tools of a catalogue, and the profiles that choose them.

Importing this package loads no model code; `load_expert` does.
"""
