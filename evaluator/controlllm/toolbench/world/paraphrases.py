"""Other words for the sentences of toolworld's requests, with the same slots and the same goals."""

from evaluator.controlllm.toolbench.mini.paraphrases import PARAPHRASES as MINI
from evaluator.core.suites.rewording import Rewording

PARAPHRASES = Rewording({
    **MINI.alternatives,
    # image_detection
    "Give me the position of the {thing} in {image} as a bounding box.": (
        "As a bounding box, give me the position of the {thing} in {image}.",
    ),
    "Crop {image} to the box of the {thing}.": ("I want {image} cropped to the box of the {thing}.",),
    "Tell me the coordinates of the {thing} in {image}, as a box.": (
        "As a box, tell me the coordinates of the {thing} in {image}.",
    ),
    "I need the location of the {thing} in {image}, as a box.": (
        "Please give me the location of the {thing} in {image}, as a box.",
    ),
    "Mark the {thing} in {image} with a frame.": ("In {image}, mark the {thing} with a frame.",),
    "I want to see nothing of {image} but the box around the {thing}, so crop it.": (
        "Crop {image}, so that I see nothing but the box around the {thing}.",
    ),
    # image_segmentation, image_QA, image_classification, image_processing
    "Return the mask of the {thing} in {image}.": ("Please make me the mask of the {thing} in {image}.",),
    "Describe {image} in one sentence.": ("Give me one sentence that describes {image}.",),
    "What does {image} show? Give me a caption.": ("Give me a caption that says what {image} shows.",),
    "Look at {image}. {question} Answer yes or no.": ("Here is {image}. {question} Answer yes or no.",),
    "Recognise the object that {image} shows.": ("Please recognise the object in {image}.",),
    "Name the main object of {image}.": ("Tell me the name of the main object of {image}.",),
    "Classify the object in {image}.": ("To which class does the object in {image} belong? Classify it.",),
    "Process {image} so that I get its {map} map.": ("I want the {map} map of {image}, so process it.",),
    # image_generation
    "Paint a new image: {sentence}": ("I want a newly painted image of this: {sentence}",),
    "Using the {map} map {map_file}, generate a new image of this: {sentence}": (
        "Generate a new image along the {map} map {map_file}, of this: {sentence}",
    ),
    "Take the {map} map of {image} and generate a new image with it: {sentence}": (
        "With the {map} map of {image} as a guide, generate a new image: {sentence}",
    ),
    "Along the {map} map of {image}, generate a new image of the following. {sentence}": (
        "Generate a new image of the following along the {map} map of {image}. {sentence}",
    ),
    # image_editing
    "Cut the {thing} out of {image} along its outline and leave all the rest away.": (
        "Leave everything away from {image} but the {thing}: cut it out along its outline.",
    ),
    "Keep only the {thing} of {image}, by its mask, and make the rest black.": (
        "Make everything in {image} black and keep only the {thing}, by its mask.",
    ),
    # video_classification
    "Which motion can be seen in {video}? Name its category.": (
        "Name the category of the motion that can be seen in {video}.",
    ),
    "Does {video} show something {motion}? Give the category if it does.": (
        "If {video} shows something {motion}, give the category.",
    ),
    "What moves in {video} and how? Tell it in a sentence.": ("Tell me in a sentence what moves in {video} and how.",),
    "Check {video} for something {motion}, please.": ("Please check {video} for something {motion}.",),
    "Describe in a sentence what happens in {video}.": ("What happens in {video}? Describe it in a sentence.",),
    # text
    "What does the sign in {image} say?": ("There is a sign in {image}; what does it say?",),
    "Read the words that are written in {image}.": ("There are words written in {image}; read them.",),
    "What is written in {image}? Give me the words.": ("Give me the words that are written in {image}.",),
    'Give this text a title: "{text}"': ('Find a title for this text: "{text}"',),
    'What would be a title for the following? "{text}"': ('Give me a title for the following: "{text}"',),
    'Tag this text: "{text}"': ('I want tags for this text: "{text}"',),
    'Give me tags for this review: "{text}"': ('Tag this review: "{text}"',),
    'Which names of people and days are in this text? "{text}"': (
        'Find the names of people and days in this text: "{text}"',
    ),
    'List the named entities of this text: "{text}"': ('Which named entities does this text have? "{text}"',),
    'Extract the location that this text is about: "{text}"': ('Which location is this text about? "{text}"',),
    'Summarize this text in one sentence: "{text}"': ('Write a summary of this text in one sentence: "{text}"',),
    'Shorten the following to its main points: "{text}"': ('Give me the main points of the following: "{text}"',),
    'What is the mood of this review, positive or negative? "{text}"': (
        'Is the mood of this review positive or negative? "{text}"',
    ),
    'Analyse the sentiment of this text: "{text}"': ('What is the sentiment of this text? "{text}"',),
    "Give me tags for a caption of {image}.": ("Make a caption of {image} and give me tags for it.",),
    "Caption {image} and make a title of the caption.": ("Make a title of a caption of {image}.",),
    "Make a title for {video} from a sentence about what happens in it.": (
        "From a sentence about what happens in {video}, make a title for it.",
    ),
    "Tag {video} by a sentence that describes it.": ("By a sentence that describes {video}, give me tags for it.",),
    "Which names are among the words written in {image}?": ("Among the words written in {image}, which are names?",),
    "Read {image} and tag its writing.": ("Give me tags for what you read in {image}.",),
    "What is written in {image}?": ("Read what is written in {image}.",),
    'And give this text a title: "{text}"': ('And find a title for this text: "{text}"',),
    "List the named entities in the writing of {image}.": ("Which named entities are in the writing of {image}?",),
    "Then make a title for {video} from a sentence about what happens in it.": (
        "Then, from a sentence about what happens in {video}, make a title for it.",
    ),
    "Then give me tags for a caption of {image}.": ("Then make a caption of {image} and give me tags for it.",),
    "Finally, read the words that are written in {image}.": ("At last, read the words written in {image}.",),
    "Then tag {video} by a sentence that describes it.": (
        "Then, by a sentence that describes {video}, give me tags for it.",
    ),
    # compound_instructions
    "How many {things} are in {image}?": ("How many {things} does {image} show?",),
    "Give me the mask of the {thing} in it, too.": ("Also give me the mask of the {thing} in it.",),
    "Also tell me which motion {video} shows.": ("And which motion does {video} show?",),
    "And count the {things} in {image}.": ("Also count how many {things} are in {image}.",),
    "With the {map} map of {image}, generate a new image: {sentence}": (
        "Generate a new image with the {map} map of {image}: {sentence}",
    ),
    "Then give me the position of the {thing} in {image} as a box.": (
        "After that, give me the position of the {thing} in {image} as a box.",
    ),
    "Finally, how many {things} does it show?": ("At last, how many {things} are there in it?",),
    "Cut out the {thing} of {image} by its mask.": ("By its mask, cut out the {thing} of {image}.",),
    "Describe what happens in {video}.": ("What happens in {video}? Describe it.",),
    "Erase from {image} what the mask {mask_file} covers.": (
        "What the mask {mask_file} covers, erase it from {image}.",
    ),
    "Check {video} for something {motion}.": ("Please check whether {video} shows something {motion}.",),
    "Describe {image} in one sentence. And one question: {question}": (
        "Give me one sentence that describes {image}. And answer a question: {question}",
    ),
    "Recognise the object that {image} shows. Then paint a new image: {sentence}": (
        "Please recognise the object in {image}. After that, paint a new image: {sentence}",
    ),
    "And the mask of the {thing} in {image}.": ("I also need the mask of the {thing} in {image}.",),
})  # fmt: skip
