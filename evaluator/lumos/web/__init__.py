"""Prediction of the steps of recorded walks through web sites: Mind2Web."""
