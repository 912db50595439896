"""Submissions, evaluations, their states and results, and who may see and change them."""
