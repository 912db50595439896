"""How reliable a planner is: whether it would do the same again, and with another form of the request, and whether its
confidence says when it is right.

The measures are those of "Towards a Science of AI Agent Reliability" (arXiv 2602.16666), for planners: plans are
compared as graphs, and requests are perturbed without changing their meaning. `study` runs what `profile` needs.
"""
