"""Classical image operations without models: edges, lines, normals, cropping, filling and drawing. No torch.

Used by experts, scores, and the ground truth of the miniature world.
"""
