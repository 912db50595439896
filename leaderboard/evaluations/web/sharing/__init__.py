"""Rank, citation, badge and downloads of an evaluation."""
