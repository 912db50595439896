"""Training of the experts for tableaux and clips: masks, boxes, depth, edges, poses, motion, and guided drawing."""
