"""The page of one task: plan, steps, artefacts and indicators."""
