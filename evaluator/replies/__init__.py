"""Parsers of models' replies: plans, actions and decompositions, one parser per surface form."""
