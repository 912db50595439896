"""What confines strangers' programs and models, and what is checked before a model is loaded."""
