"""Requests that point at one of several like things in a picture, with data and references for execution."""

SLUG = "pointmini"
