"""What the request's own words say of a subtask: whether it counts, describes, or asks something specific."""

import re

COUNTING = re.compile(r"\b(how many|number of|count|counts|counting|quantity|total|tally|amount of)\b")
DESCRIBING = re.compile(
    r"\b(describe|description|descriptive|elaborate|depict|depiction|portray|narrate|characterize|rundown|caption"
    r"|visual content|key elements|(this|the) (photo|image|picture) about|summar\w+ (the|this) (image|picture|photo)"
    r"|(happening|going on) in (this|the)|do you see)\b"
)
SPECIFIC = re.compile(r"\b(why|how (might|can|does|do|did|would|could)|which|who|reason|benefit|purpose)\b")
