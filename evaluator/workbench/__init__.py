"""The workbench: one request, the planner's plan, and what the experts make of it, as events."""
