"""Recorded walks through web sites, of which each step is predicted: Mind2Web."""
