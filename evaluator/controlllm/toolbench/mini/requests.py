"""`toolmini`: 120 requests of ControlLLM's kind, made here, for when nothing was fetched.

Ten requests for each of the twelve groups of Tool100. Every request is a wording of this repository with things, files
and scenes put in; its gold decomposition has the form, the types and the domains of ControlLLM's files. All choices
follow from a fixed seed and the request's own key, so adding a wording to one group changes no other.
"""

import itertools
from functools import cache

from evaluator.controlllm.toolbench.mini import words
from evaluator.controlllm.toolbench.mini.gold import Gold
from evaluator.controlllm.toolbench.mini.sentences import (
    SEED,
    Fill,
    Sentence,
    about_one_image,
    action,
    action_each,
    actions,
    answer,
    ask,
    asked_and_counted,
    count,
    count_each,
    crop,
    cut_from_new,
    cut_out,
    describe,
    follow_given,
    follow_made,
    follow_segments,
    generate,
    highlight,
    locate,
    locate_then_draw,
    made_then_described,
    made_then_highlighted,
    make_map,
    mask,
    recognise,
    recognise_one,
    remove,
    remove_each,
    remove_masked,
    segment_all,
    similar,
    which_of_two,
)
from evaluator.controlllm.toolbench.released.files import RawTask, level_of_plan

PER_GROUP = 10


GROUPS: dict[str, tuple[tuple[Sentence, ...], ...]] = {
    "image_detection": (
        (locate("Locate the {thing} in {image}, please."),),
        (highlight("Please highlight the {thing} in {image}."),),
        (locate_then_draw("Does {image} contain a {thing}?"),),
        (crop("Give me the part of {image} with the {thing}, cropped to its box."),),
        (highlight("Put a border around the {thing} that you find in {image}."),),
    ),
    "video_classification": (
        (action("Does anybody practise {action} in {video}?"),),
        (action("Watch {video} and tell me whether {action} happens in it."),),
        (actions("Which actions can be seen in {video}?"),),
        (action("I wonder if there is any {action} going on in {video}."),),
        (action("Check {video} for {action}, please."),),
    ),
    "image_QA": (
        (ask("Look at {image}. {question}"),),
        (describe("Describe {image} for somebody who cannot see it."),),
        (ask("A question about {image}: {question}"),),
        (describe("Give me a detailed description of {image}."),),
        (ask("My picture is {image}. {question}"),),
    ),
    "image_classification": (
        (recognise("Name all the objects that {image} shows."),),
        (recognise_one("Would you check whether there is a {category} in {image}?"),),
        (recognise("What are the different things to be seen in {image}?"),),
        (recognise_one("I have to know if {image} contains a {category}."),),
        (recognise("Recognize every object present in {image} and list them."),),
    ),
    "QA": tuple((answer(number),) for number in range(len(words.QUESTIONS))),
    "image_segmentation": (
        (mask("I need the mask of the {thing} in {image}."),),
        (segment_all("Segment everything in {image}; labels are not needed."),),
        (mask("Make a segmentation mask for the {thing} that {image} shows."),),
        (segment_all("Please give me the segmentation map of {image} with all its segments."),),
        (mask("Where {image} shows a {thing}, return its mask."),),
    ),
    "image_processing": (
        (make_map("Make the {map} map of {image}."),),
        (make_map("I would like to have the {map} result for {image}."),),
        (make_map("Apply your {map} model to {image}."),),
        (make_map("From {image}, extract the {map} map."),),
        (make_map("Process {image} so that I get its {map} output."),),
    ),
    "image_generation": (
        (generate("Paint a new image that shows {scene}."),),
        (follow_given("Using the {map} map {map_file}, generate a new image that shows {scene}."),),
        (follow_made("Take the {map} map of {image} and generate a new image with it that shows {scene}."),),
        (similar("Generate an image that is similar to {image} in its layout."),),
        (follow_segments("Use the segmentation of {image} to create a new image that shows {scene}."),),
    ),
    "image_editing": (
        (remove("Remove the {thing} from {image}, please."),),
        (cut_out("Cut out the {thing} from {image} and leave all the rest away."),),
        (remove_masked("Erase from {image} whatever the mask {mask_file} covers."),),
        (remove("I want {image} without the {thing}; please erase it."),),
        (cut_out("Keep only the {thing} of {image} and drop its background."),),
    ),
    "count_object": (
        (count("How many {things} are there in {image}?"),),
        (count("Count the {things} in {image}, please."),),
        (count("Tell me the number of {things} that {image} shows."),),
        (count("What is the total of {things} in {image}?"),),
        (count("I need the quantity of {things} visible in {image}."),),
    ),
    "compound_instructions": (
        (count_each("For each of {files}: how many {things} are there?", files=3),),
        (remove_each("Remove the {thing} from the images {files}.", files=3),),
        (action_each("Tell me whether {action} happens in the videos {files}.", files=3),),
        (
            about_one_image(
                locate("Is there a {thing} in {image}?"),
                mask("Give me the mask of the {thing} in this image, too."),
                ask("And one more thing about this image: {question}"),
            ),
        ),
        (
            recognise("List all objects that {image} shows."),
            action("Does {action} happen in {video}?"),
            count("How many {things} are there in {image}?"),
        ),
        (
            follow_made("With the {map} map of {image}, generate a new image that shows {scene}."),
            remove("Remove the {thing} from {image}."),
            answer(7),
        ),
        (
            about_one_image(
                highlight("Highlight the {thing} in {image}."),
                segment_all("Then segment everything in this image."),
                describe("Finally describe this image in detail."),
            ),
        ),
        (cut_out("Cut out the {thing} from {image}."), make_map("Make the {map} map of {image}.")),
        (answer(0), crop("Crop {image} to the {thing}."), recognise_one("Is a {category} present in {image}?")),
        (
            remove_masked("Erase from {image} what the mask {mask_file} covers."),
            similar("Generate an image that is similar to {image}."),
            action("Check {video} for {action}."),
        ),
    ),
    "extra": (
        (made_then_described,),
        (made_then_highlighted,),
        (asked_and_counted,),
        (which_of_two,),
        (cut_from_new,),
    ),
}
"""Sentences of the requests, by group. A group with fewer than ten wordings uses each of them again."""


@cache
def toolmini_tasks() -> tuple[RawTask, ...]:
    """The requests with their gold decompositions and levels, always the same."""
    return tuple(request_of(group=group, index=index, seed=SEED) for group in GROUPS for index in range(PER_GROUP))


def hidden_tasks(*, seed: str) -> tuple[RawTask, ...]:
    """Requests with the keys, groups, forms and levels of the public ones, about other things, files and scenes.

    None reads like a public one. Always the same for the same seed.
    """
    public = {task.instruction for task in toolmini_tasks()}
    return tuple(
        next(
            task
            for tries in itertools.count()
            if (task := request_of(group=group, index=index, seed=f"{seed} {tries}")).instruction not in public
        )
        for group in GROUPS
        for index in range(PER_GROUP)
    )


def request_of(*, group: str, index: int, seed: str) -> RawTask:
    """One request of a group, about the things that seed and key choose."""
    key = f"{group}/{index}"
    sentences = GROUPS[group][index % len(GROUPS[group])]
    gold = Gold()
    said = [sentence(Fill(key=key, number=number, seed=seed), gold) for number, sentence in enumerate(sentences)]
    return RawTask(
        key=key,
        group=group,
        instruction=" ".join(said),
        output=gold.text(),
        level=level_of_plan(gold.calls),
    )
