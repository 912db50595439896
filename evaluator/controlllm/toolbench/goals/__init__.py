"""Goals of requests: derivation from gold decompositions, sufficient alternatives, and gold plans."""
