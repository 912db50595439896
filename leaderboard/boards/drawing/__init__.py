"""Drawings of boards: what is where, and the same as SVG in a page, as an SVG file and as a PNG. No database."""
