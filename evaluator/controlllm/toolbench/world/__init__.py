"""The suite `toolworld`: requests about the miniature world for ControlLLM's tools, whose plans are executed."""

SLUG = "toolworld"
