"""How dates are written where no template says it: in the admin."""
