"""What models write, read as plans, actions and decompositions: one parser for each surface form."""
