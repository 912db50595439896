"""Requests about sounds of the miniature world, with data and references for execution."""

SLUG = "soundworld"
