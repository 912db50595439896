"""What all clients of the product share about HTTP servers that answer badly."""
