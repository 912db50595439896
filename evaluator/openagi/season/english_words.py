"""English patterns and vocabulary of generated requests.

Slots of patterns:

    {a}          the inputs with their defects: "a grainy, tiny photo"
    {this}       the same, as something at hand: "this grainy, tiny photo"
    {the}        the inputs without defects: "the photo"
    {state}      sentences on the defects: "It is grainy and tiny."; `state:the` names the input
    {clause}     such a sentence as a clause: "the photo is grainy"; `clause:it` has a pronoun
    {do}         what to do, in the infinitive, to `it`, `the` or `this`: "describe it in one sentence"
    {get}        the answer: "a one-sentence description in German"

In verb phrases, {it} is the input that it is about; {in} is the language (" in German"), or nothing.
"""

from collections.abc import Mapping, Sequence

from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.season.speaker import Pattern, Words

PATTERNS = tuple(
    Pattern(text=text)
    for text in (
        "I have {a}. | Please {do:it}.",
        "I have {a} and would like you to {do:it}.",
        "Here is {a}. | Could you {do:it}?",
        "Attached you will find {a}. | Please {do:it}.",
        "What I need is {get}; all I have is {a}.",
        "If all you are given is {a}, how do you {do:it}?",
        "Someone sent me {a}. | Can you {do:it} for me?",
        "Suppose you get {a} and are asked to {do:it}. What would you do?",
        "Starting from {a}, work out how to {do:it}.",
        "I came across {a} on an old hard disk. | Would you {do:it}, please?",
        "My starting point is {a}. | What I am after is {get}.",
        "There is {a} in my inbox. | I would be grateful if you could {do:it}.",
        "From {a}, I would like to get {get}.",
        "I am sitting in front of {a} and need {get}.",
        "If I give you {a}, can you {do:it}?",
        "I have just uploaded {a}. | Please {do:it}.",
        "How do I get from {a} to {get}?",
        "You are handed {a}. | Your job is to {do:it}.",
        "I only have {a}, but I need {get}.",
        "This morning we received {a}. | Please {do:it} before the meeting.",
        "A client gave us {a}. | She expects {get}.",
        "I would like {get}, please. | You will have to work with {a}.",
        "Please {do:this}.",
        "{do:this}.",
        "Could you {do:this}?",
        "Would you please {do:this}?",
        "I would like you to {do:this}.",
        "I wonder whether you could {do:this}.",
        "Your task is to {do:this}.",
        "How would you {do:this}?",
        "For {this}, I need {get}.",
        "Can I have {get} for {this}?",
        "It would be great if you could {do:this}.",
        "Find a way to {do:this}.",
        "I need your help: please {do:this}.",
        "Which tools would you use to {do:this}?",
        "What steps does it take to {do:this}?",
        "Is there any chance that you could {do:this}?",
        "Please {do:the}. {state}",
        "{state:the} Please {do:it}.",
        "I want to {do:the}. {state} How should I go about it?",
        "Can you {do:the}? {state}",
        "{state:the} Even so, I need {get}.",
        "{state:the} Could you {do:it} for me?",
        "I need {get} for {the}. {state}",
        "Although {clause:the}, I would like you to {do:it}.",
        "Please {do:the}, even though {clause:it}.",
        "The problem is that {clause:the}. | Can you {do:it} all the same?",
        "I know that {clause:the}, but could you {do:it}?",
        "Sorry that {clause:the}. | I need {get}.",
    )
)

_L, _N, _B, _G = Degradation.LOW_RESOLUTION, Degradation.NOISE, Degradation.BLUR, Degradation.GRAYSCALE
WORDS = Words(
    terms={
        _L: ("low-resolution", "low-res"),
        _N: ("noisy",),
        _B: ("blurry", "blurred"),
        _G: ("grayscale", "greyscale"),
    },
    looks={
        _L: ("tiny", "pixelated", "thumbnail-sized", "very small", "stamp-sized"),
        _N: ("grainy", "speckled", "gritty"),
        _B: ("out-of-focus", "fuzzy", "unsharp"),
        _G: ("black-and-white", "colourless", "monochrome"),
    },
    openings=("Hello!", "Hi there!", "Good morning!", "Good afternoon!", "Good evening!"),
    closings=("Thank you!", "Thanks in advance!", "Many thanks!", "There is no hurry.", "Thanks a lot!",
              "I need it by tomorrow.", "Cheers!"),
    details={
        "image": (
            "My aunt took {it} in Lisbon last summer.",
            "The market was terribly noisy when I took {it}.",
            "A German friend of mine took {it} at a trade fair.",
        "{it} got its frame from a carpenter in Cologne.",
            "{it} is going to hang in our kitchen.",
            "{it} was on the front page of our school newspaper.",
            "{it} had been lying in a drawer for twenty years.",
            "My memory of the day on which I took {it} is a bit blurry.",
            "I took {it} on the way back from a concert.",
            "My grandfather kept {it} in his wallet.",
            "{it} is the only one that survived the move.",
            "The camera cost me less than a good dinner.",
            "{it} was taken shortly before sunrise.",
        ),
        "text": (
            "A colleague from Germany wrote {it} years ago.",
            "{it} was pinned to the noticeboard in our office.",
            "{it} fell out of an old book.",
            "I typed {it} on a noisy train.",
            "{it} is part of a longer exchange of letters.",
            "My handwriting is dreadful, so I typed {it} out again.",
            "{it} came with a picture, which I have lost.",
            "The author wishes to remain anonymous.",
            "I have read {it} three times already.",
            "{it} was written on a typewriter.",
        ),
        "document": (
            "{it} comes from the town archive.",
            "{it} was written on a typewriter.",
            "A colleague from Germany gave {it} to me.",
            "{it} used to have a coloured cover.",
            "I have already looked through {it} twice.",
            "{it} is older than I am.",
            "Nobody in our office has had time to read {it}.",
            "{it} was lying next to the copier.",
        ),
    },
    intact=(
        "There is no need to restore {image} first: the quality is perfect.",
        "{image} is fine as it is, so please do not touch it up first.",
        "You could sharpen {image} first, but that is not necessary.",
        "{image} is sharp and its colours are right, so it needs no restoration.",
        "Somebody offered to remove the noise from {image}, but there is none.",
        "{image} does not have to be enlarged or colourised; it is flawless already.",
        "{image} has been restored already, so leave its quality alone.",
        "{image} needs no repairs beforehand.",
    ),
)  # fmt: skip

NOUNS: Mapping[str, Sequence[str]] = {
    "image": ("photo", "picture", "image", "photograph", "snapshot"),
    "text": ("text", "passage", "paragraph", "note"),
    "document": ("document", "article", "report"),
    "query": ("question",),
}
CLOZED = ("with a missing word", "in which one word is missing", "with one word blanked out", "with a gap in it")
CLOZED_STATES = ("One word in {the} is missing.", "{the} has a gap where a word should be.",
                 "Someone has blanked out a word in {the}.")  # fmt: skip
CLOZED_CLAUSE = "{it} lacks a word"
NOT_CLOZED = ("No word is missing from {it}.", "There are no gaps in {it}.", "{it} is complete; no word is missing.")

VERBS: Mapping[Base, Sequence[str]] = {
    Base.RESTORATION: (
        "restore {it}", "bring {it} back to its original quality", "produce a clean version of {it}", "repair {it}",
        "make {it} look the way it was meant to look",
    ),
    Base.CAPTIONING: (
        "describe {it} in one sentence{in}", "write a one-sentence caption for {it}{in}",
        "put into one sentence{in} what {it} shows", "tell me in a short sentence{in} what {it} shows",
        "compose a short caption for {it}{in}",
    ),
    Base.CLASSIFICATION: (
        "classify {it} and give me the label{in}", "name the main object of {it}{in}",
        "tell me{in} which class {it} belongs to", "label {it}{in} with the class of its main object",
        "assign {it} to a class and name it{in}",
    ),
    Base.DETECTION: (
        "list the objects in {it}{in}", "name{in} all the objects that {it} shows",
        "tell me{in} which objects {it} contains", "identify every object in {it} and name them{in}",
    ),
    Base.TEXT_TO_IMAGE: (
        "draw what {it} describes", "turn {it} into a picture", "illustrate {it}", "paint a picture of what {it} says",
    ),
    Base.SUMMARIZATION: (
        "summarise {it}{in}", "sum up {it} briefly{in}", "condense {it} into one sentence{in}",
        "give me the gist of {it}{in}", "tell me{in} in one sentence what {it} is about",
    ),
    Base.TRANSLATION: (
        "translate {it} into German", "render {it} in German", "produce a German version of {it}",
        "put {it} into German",
    ),
    Base.SENTIMENT: (
        "tell me{in} whether {it} sounds positive or negative", "work out the sentiment of {it} and name it{in}",
        "judge{in} whether the mood of {it} is positive or negative", "rate {it} as positive or negative{in}",
    ),
    Base.VQA: (
        "answer the question about {it}{in}", "reply{in} to the question about {it}",
        "look at {it} and answer the question{in}", "tell me{in} what the answer to the question about {it} is",
    ),
    Base.QA: (
        "answer the question{in} with the help of {it}", "use {it} to answer the question{in}",
        "look in {it} for the answer to the question and give it to me{in}",
        "read {it} and answer the question{in}",
    ),
}  # fmt: skip
"""What to do, by domain task."""
RESULTS: Mapping[Base, Sequence[str]] = {
    Base.RESTORATION: ("a clean version", "a properly restored copy", "a version in good quality"),
    Base.CAPTIONING: ("a one-sentence description{in}", "a short caption{in}", "a one-line caption{in}"),
    Base.CLASSIFICATION: ("the class of the main object{in}", "a class label{in}"),
    Base.DETECTION: ("a list of the objects shown{in}", "the names of all the objects shown{in}"),
    Base.TEXT_TO_IMAGE: ("a picture of what it describes", "a matching illustration", "a drawing of what it says"),
    Base.SUMMARIZATION: ("a one-sentence summary{in}", "a short summary{in}", "the gist in one sentence{in}"),
    Base.TRANSLATION: ("a German translation", "a translation into German"),
    Base.SENTIMENT: ("a verdict{in}, positive or negative", "a verdict{in} on whether it is positive or negative"),
    Base.VQA: ("the answer to the question{in}", "an answer{in} to the question"),
    Base.QA: ("the answer to the question{in}", "an answer{in} to the question"),
}
"""The answer as a noun phrase."""

IMPOSSIBLE: Mapping[Base, Sequence[tuple[str, str]]] = {
    Base.CAPTIONING: (
        ("describe {it} in one French sentence", "a description in French"),
        ("write a caption for {it} in Japanese", "a caption in Japanese"),
        ("tell me how loud it was when {it} was taken", "the noise level in decibels at the moment it was taken"),
        ("tell me on which day {it} was taken", "the date on which it was taken"),
        ("find out who took {it}", "the name of whoever took it"),
        ("transcribe what is being said in {it}", "a transcript of everything that is being said"),
        ("tell me in which city {it} was taken", "the name of the city in which it was taken"),
        ("tell me what camera {it} was taken with", "the model of the camera"),
        ("list the objects in {it} in Spanish", "a list of the objects in Spanish"),
        ("tell me how many bytes the file of {it} has", "the size of the file in bytes"),
        ("post {it} on our website and send me the link", "a link to where it has been posted"),
    ),
    Base.RESTORATION: (
        ("rotate {it} by ninety degrees", "a copy that is rotated by ninety degrees"),
        ("crop {it} to its left half", "only the left half"),
        ("mirror {it}", "a mirrored copy"),
        ("cut out the background of {it}", "a copy without the background"),
        ("turn {it} into a short video", "a short video of it"),
        ("put a wooden frame around {it}", "a copy with a wooden frame around it"),
        ("make an oil painting out of {it}", "a version in the style of an oil painting"),
        ("darken {it} a little", "a slightly darker version"),
        ("draw a red box around the main object of {it}", "a copy with a red box around the main object"),
        ("remove the main object from {it}", "a copy without the main object"),
        ("turn {it} upside down", "a copy that is upside down"),
    ),
    Base.SUMMARIZATION: (
        ("translate {it} into French", "a French translation"),
        ("translate {it} into Polish", "a Polish translation"),
        ("translate {it} into Turkish", "a Turkish translation"),
        ("read {it} out to me", "a recording of someone reading it out"),
        ("find out who wrote {it}", "the name of the author"),
        ("check on the internet whether {it} is true", "a list of websites that confirm it"),
        ("tell me when {it} was written", "the date on which it was written"),
        ("set {it} to music", "a melody for it"),
        ("send {it} to all my colleagues", "a confirmation that all my colleagues have received it"),
        ("summarise {it} in Italian", "a summary in Italian"),
        ("count the letters in {it}", "the exact number of letters in it"),
    ),
}
"""What no tool does, as something to do and as an answer, by the domain task that it resembles."""
