"""Other words for the sentences of toolmini's requests, with the same slots and the same goals.

Questions for language models, and sentences whose words are handed to a tool, have no others: a planner that passes
them on would say something else.
"""

from evaluator.core.suites.rewording import Rewording

PARAPHRASES = Rewording({
    # image_detection
    "Locate the {thing} in {image}, please.": ("I would like you to locate the {thing} in {image}.",),
    "Please highlight the {thing} in {image}.": ("I would like to see the {thing} in {image} highlighted.",),
    "Does {image} contain a {thing}?": ("Is there a {thing} in {image}?",),
    "Give me the part of {image} with the {thing}, cropped to its box.": (
        "Crop the {thing} out of {image} by its box and give me that part.",
    ),
    "Put a border around the {thing} that you find in {image}.": (
        "In {image}, find the {thing} and draw a border around it.",
    ),
    # video_classification
    "Does anybody practise {action} in {video}?": ("Is anybody practising {action} in {video}?",),
    "Watch {video} and tell me whether {action} happens in it.": ("Tell me whether {action} happens in {video}.",),
    "Which actions can be seen in {video}?": ("What actions does {video} show?",),
    "I wonder if there is any {action} going on in {video}.": ("Is there any {action} going on in {video}?",),
    "Check {video} for {action}, please.": ("Please check whether there is {action} in {video}.",),
    # image_QA
    "Look at {image}. {question}": ("Here is {image}. {question}",),
    "Describe {image} for somebody who cannot see it.": ("Somebody cannot see {image}; describe it to them.",),
    "A question about {image}: {question}": ("Answer a question about {image}: {question}",),
    "Give me a detailed description of {image}.": ("Describe {image} in detail.",),
    "My picture is {image}. {question}": ("I have a picture, {image}. {question}",),
    # image_classification
    "Name all the objects that {image} shows.": ("Which objects does {image} show? Name all of them.",),
    "Would you check whether there is a {category} in {image}?": ("Please check if {image} shows a {category}.",),
    "What are the different things to be seen in {image}?": ("Which different things can be seen in {image}?",),
    "I have to know if {image} contains a {category}.": ("Tell me if there is a {category} in {image}.",),
    "Recognize every object present in {image} and list them.": (
        "In {image}, recognize every object present and list them.",
    ),
    # image_segmentation
    "I need the mask of the {thing} in {image}.": ("Please make me the mask of the {thing} in {image}.",),
    "Segment everything in {image}; labels are not needed.": ("Without labels, segment everything in {image}.",),
    "Make a segmentation mask for the {thing} that {image} shows.": (
        "The {thing} in {image} needs a segmentation mask; make one.",
    ),
    "Please give me the segmentation map of {image} with all its segments.": (
        "I would like the segmentation map of {image}, with all segments.",
    ),
    "Where {image} shows a {thing}, return its mask.": ("Return the mask of the {thing} in {image}.",),
    # image_processing
    "Make the {map} map of {image}.": ("I need the {map} map of {image}.",),
    "I would like to have the {map} result for {image}.": ("Please make the {map} result for {image}.",),
    "Apply your {map} model to {image}.": ("Run your {map} model on {image}.",),
    "From {image}, extract the {map} map.": ("Extract the {map} map from {image}.",),
    "Process {image} so that I get its {map} output.": ("I want the {map} output of {image}, so process it.",),
    # image_generation
    "Paint a new image that shows {scene}.": ("I want a newly painted image that shows {scene}.",),
    "Using the {map} map {map_file}, generate a new image that shows {scene}.": (
        "Generate a new image that shows {scene}; follow the {map} map {map_file}.",
    ),
    "Take the {map} map of {image} and generate a new image with it that shows {scene}.": (
        "With the {map} map of {image} as a guide, generate a new image that shows {scene}.",
    ),
    "Generate an image that is similar to {image} in its layout.": (
        "I want an image generated that is similar to {image} in its layout.",
    ),
    "Use the segmentation of {image} to create a new image that shows {scene}.": (
        "Create a new image that shows {scene} along the segmentation of {image}.",
    ),
    # image_editing
    "Remove the {thing} from {image}, please.": ("Please take {image} and remove the {thing} from it.",),
    "Cut out the {thing} from {image} and leave all the rest away.": (
        "Leave everything away from {image} but the {thing}: cut it out.",
    ),
    "Erase from {image} whatever the mask {mask_file} covers.": (
        "Whatever the mask {mask_file} covers, erase it from {image}.",
    ),
    "I want {image} without the {thing}; please erase it.": (
        "Please erase the {thing} so that {image} is without it.",
    ),
    "Keep only the {thing} of {image} and drop its background.": (
        "Drop the background of {image} and keep only the {thing}.",
    ),
    # count_object
    "How many {things} are there in {image}?": ("How many {things} does {image} show?",),
    "Count the {things} in {image}, please.": ("Please count how many {things} are in {image}.",),
    "Tell me the number of {things} that {image} shows.": ("I want to know the number of {things} in {image}.",),
    "What is the total of {things} in {image}?": ("What is the total number of {things} in {image}?",),
    "I need the quantity of {things} visible in {image}.": ("Give me the quantity of {things} visible in {image}.",),
    # compound_instructions
    "For each of {files}: how many {things} are there?": ("How many {things} are there in each of {files}?",),
    "Remove the {thing} from the images {files}.": ("From the images {files}, remove the {thing}.",),
    "Tell me whether {action} happens in the videos {files}.": ("In the videos {files}, does {action} happen?",),
    "Is there a {thing} in {image}?": ("Does {image} contain a {thing}?",),
    "Give me the mask of the {thing} in this image, too.": ("Also give me the mask of the {thing} in this image.",),
    "And one more thing about this image: {question}": ("One more question about this image: {question}",),
    "List all objects that {image} shows.": ("Which objects does {image} show? List all of them.",),
    "Does {action} happen in {video}?": ("Is there {action} in {video}?",),
    "With the {map} map of {image}, generate a new image that shows {scene}.": (
        "Generate a new image that shows {scene} with the {map} map of {image}.",
    ),
    "Remove the {thing} from {image}.": ("Take {image} and remove the {thing} from it.",),
    "Highlight the {thing} in {image}.": ("I want the {thing} in {image} highlighted.",),
    "Then segment everything in this image.": ("After that, segment everything in this image.",),
    "Finally describe this image in detail.": ("At the end, describe this image in detail.",),
    "Cut out the {thing} from {image}.": ("From {image}, cut out the {thing}.",),
    "Crop {image} to the {thing}.": ("I want {image} cropped to the {thing}.",),
    "Is a {category} present in {image}?": ("Is there a {category} in {image}?",),
    "Erase from {image} what the mask {mask_file} covers.": (
        "What the mask {mask_file} covers, erase it from {image}.",
    ),
    "Generate an image that is similar to {image}.": ("I want an image generated that is similar to {image}.",),
    "Check {video} for {action}.": ("Check whether there is {action} in {video}.",),
    # extra
    "Paint {scene} for me. Afterwards describe the new image, so that I can tell whether it is right.": (
        "Paint an image of {scene}. Then describe this new image to me, so that I can tell whether it is right.",
    ),
    "Make an image that shows {scene} and a {thing}. Then highlight the {thing} in this new image.": (
        "I want a new image that shows {scene} and a {thing}. Afterwards, highlight the {thing} in it.",
    ),
    "Look at {image}. {question} How many {things} are there?": (
        "Here is {image}. {question} How many {things} are there?",
    ),
    "Which of the two images {image} and {other} holds a {thing}?": (
        "There are two images, {image} and {other}. Which of them holds a {thing}?",
    ),
    "Generate an image of {scene} and a {thing}, and then cut out the {thing} from the new image.": (
        "I want a generated image of {scene} and a {thing}. Then cut out the {thing} from the new image.",
    ),
})  # fmt: skip
