"""What a submitted language model must be like before anything loads it. No torch; only `hub_lookup` uses the network.

Nothing is imported here: a site that checks one file must not load the parsers of all others.
"""
