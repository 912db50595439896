"""The suite `toolworld`: requests about the miniature world, whose plans are executed."""

SLUG = "toolworld"
