"""What the request's own words say of a subtask: whether it counts, describes, or asks something specific."""

import re

COUNTING = re.compile(r"\b(how many|number of|count|counts|counting|quantity|total|tally|amount of)\b")
DESCRIBING = re.compile(
    r"\b(describe|description|descriptive|elaborate|depict|depiction|portray|narrate|characterize|rundown|caption"
    r"|visual content|key elements|(this|the) (photo|image|picture) about|summar\w+ (the|this) (image|picture|photo)"
    r"|(happening|going on) in (this|the)|do you see)\b"
)
SPECIFIC = re.compile(r"\b(why|how (might|can|does|do|did|would|could)|which|who|reason|benefit|purpose)\b")
DRAWING = re.compile(
    r"\b(highlight\w*|mark(s|ed|ing)?|border\w*|outline\w*|draw\w*|annotat\w+|encircl\w+|circle[sd]?|pinpoint\w*"
    r"|point(ed|ing)? out|bounding box\w*|box(es)? around|show (me|us|where)|you show|label(s|l?ed|l?ing)?)\b"
)
PRESENCE = re.compile(
    r"\b(is|are|was|were) (there|any|an?|the)\b|\bif\b|\bwhether\b|\bcontain\w*|\bpresen(t|ce)\b|\bexist\w*"
    r"|\bvisible\b|\bverify\b|\bconfirm\b|\bcheck\b|\b(has|have|having) (an?|any)\b|\bshowing\b|\bincludes?\b"
    r"|\bfeatures?\b|\bappears?\b|\bspot any\b"
)
LISTING = re.compile(
    r"\b(all|every|what|which|list|complete|everything|different|various|other)\b[^.?!]*\b(objects?|items?|things|elements"
    r"|entit\w+|contents?)\b|\b(objects?|items?|things)\b[^.?!]*\b(present|visible|see|find|depicted|list)\b"
    r"|\b(perform|do|conduct|carry out)\b[^.?!]*\b(recognition|classification)\b|\bclassif\w+\b"
)
ONE_OBJECT = re.compile(
    r"\b(including|include|such as|specifically|focus\w*|particular\w*|especially|along with|as well as)\b"
    r"|\b(identify|recognize|recognise|find|detect|locate)\b (any |the |an? |all the |all )?(?!all\b|objects?\b|every)"
)
PLACE = re.compile(r"\b(location|position|coordinates?)\b")
"""Asked for a place, boxes are the answer, however it is said; drawing them is then optional."""
CUTTING = re.compile(
    r"\b(crop|cut|extract|isolat|separat|only|background|clip|keep|rest of|trim|remov|except|focus|zoom|prominent"
    r"|segment)"
)
FINDING = re.compile(r"\b(locat\w*|position|where|find|detect\w*|identify|is there|are there|contain\w*|present)\b")
