"""Checks of a submitted language model before it is loaded. No torch; only `hub_lookup` uses the network.

Nothing is imported here, so that checking one file does not load the parsers of the others.
"""
