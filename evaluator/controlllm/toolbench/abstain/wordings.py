"""Wordings of requests that no plan can meet, and of remarks that make requests of both kinds read alike.

Slots are those of toolmini's sentences; {other} is an image that the request does not need.
"""

NO_TOOL = (
    "Email {image} to my neighbour.",
    "Print {image} on paper and post it to my aunt.",
    "Make a 3D print of the {thing} in {image}.",
    "Call my office and read out how many {things} there are in {image}.",
    "Count the {things} in {image} and text the number to my phone.",
    "Order a {category} like the one in {image} from the nearest shop.",
    "Remove the {thing} from {image} and upload the result to my website.",
    "Erase the {thing} from {video}, please.",
    "Make the {map} map of every frame of {video}.",
    "Cut the first ten seconds off {video}.",
    "Slow {video} down to half its speed.",
    "Crop {video} to the {thing}.",
    "Turn {image} into a 3D model that I can walk around.",
    "Set an alarm on my phone for the moment at which {action} begins in {video}.",
    "Book me a course in {action} for next Saturday.",
    "Switch on my camera and take a picture of the {thing} on my desk.",
    "Delete {image} from my disk.",
    "Give me the masks of the {thing} in each frame of {video}.",
    "Pay for the {category} that {image} shows with my credit card.",
    "Switch off the lamp that {image} shows.",
)
"""Wishes for which the catalogue has no tool: effects outside, changes of videos, and models of bodies."""

CONTRADICTIONS = (
    "Remove the {thing} from {image} and keep this {thing} visible in the same result.",
    "Cut out the {thing} from {image} so that nothing else is left and the {thing} is gone.",
    "Count the {things} in {image} and tell me the number; do not name a number.",
    "Highlight the {thing} in {image} in a copy that differs from {image} in no pixel.",
    "Crop {image} to the {thing}, with the whole {thing} outside the crop.",
    "I need the mask of the {thing} in {image} that covers the {thing} and no pixel of the {thing}.",
    "Make the {map} map of {image}, and make no map of it.",
    "Paint a new image that shows {scene}, with {scene} nowhere in it.",
    "Does anybody practise {action} in {video}? Answer with yes and with no, but not with both.",
    "Name all the objects that {image} shows in a list that names none of them.",
    "Erase the {thing} from {image} and leave {image} exactly as it was, in one and the same picture.",
    "I want {image} with exactly one {thing} and, in the same picture, with exactly three {things}.",
    "Keep only the {thing} of {image}, and all that surrounds it.",
    "Give me a detailed description of {image} that contains no words.",
    "Generate an image of {scene} that is black all over and white all over.",
    "Segment everything in {image}; the result may hold no segment.",
    "Which actions can be seen in {video}? Name each of them and none.",
    "Show me where the {thing} in {image} is, and hide from me where it is.",
    "Look at {image}. {question} Answer this, and leave it unanswered.",
    "Process {image} so that the {thing} in it becomes both larger and smaller.",
)
"""Wishes of which one part excludes the other."""

MISSING_IMAGES = (
    "the picture that I attached", "the photograph in the attachment", "my latest photograph",
    "the image from my phone",
)  # fmt: skip
MISSING_VIDEOS = (
    "the video that I attached",
    "the film from my phone",
    "my latest video",
    "the clip in the attachment",
)
"""What stands in the place of a file's name where no file is given."""

NOT_THERE = (
    "I have not uploaded {missing} yet.",
    "{missing} was deleted from my disk this morning, and there is no copy.",
    "The upload of {missing} failed.",
    "You will get {missing} only next week.",
)
"""Sentences that say that the file of a request is not there."""

ABOUT_FILES = (
    "I have not uploaded {other} yet, but it is not needed.",
    "{other} was deleted from my disk this morning, which does not matter here.",
    "The upload of {other} failed; do without it.",
    "There is no attachment, and none is needed.",
    "You will get {other} only next week, for another purpose.",
    "My latest photograph has nothing to do with this.",
)
ABOUT_TOOLS = (
    "I will print the result on paper and post it to my aunt myself.",
    "My neighbour asked for this by email.",
    "No need to call my office or to text anybody.",
    "The 3D print is already done; this is something else.",
    "I can upload the result to my website on my own.",
    "Tomorrow I will order a {category} from the nearest shop.",
    "On Saturday I have a course in {action}, so please do it today.",
    "My camera is off, my phone as well, and neither is needed.",
)
ABOUT_LIMITS = (
    "Do this and nothing else.",
    "I wanted the opposite yesterday, but no longer.",
    "Leave all other pictures exactly as they are.",
    "It is not urgent, and yet I cannot wait all day.",
    "Do not ask me anything; there is no more to say.",
    "Both of us need it, and none of us has the time.",
)
"""Remarks that change nothing: a request means the same with and without them."""
