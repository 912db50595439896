"""Classical operations on pictures, without models: edges, lines, normals, cutting, filling and drawing.

Experts use them, and so do the scores and the ground truth of the miniature world. No torch here.
"""
