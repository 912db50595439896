"""The suite `parcels` of PlanArena."""
