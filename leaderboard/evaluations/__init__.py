"""The domain: submissions, evaluations, their states, and who may see and change them."""
