"""Words that toolmini's requests are made of: names of things, actions, scenes and questions, all made here.

Objects that detectors and segmenters are asked for are among the 80 categories of COCO; the benchmarks that toolmini
stands in for keep to them as well.
"""

OBJECTS = (
    ("bicycle", "bicycles"), ("bus", "buses"), ("train", "trains"), ("bench", "benches"), ("horse", "horses"),
    ("dog", "dogs"), ("giraffe", "giraffes"), ("backpack", "backpacks"), ("kite", "kites"),
    ("skateboard", "skateboards"), ("fork", "forks"), ("pizza", "pizzas"), ("carrot", "carrots"), ("cake", "cakes"),
    ("couch", "couches"), ("keyboard", "keyboards"), ("clock", "clocks"), ("vase", "vases"), ("bird", "birds"),
    ("traffic light", "traffic lights"), ("stop sign", "stop signs"), ("teddy bear", "teddy bears"),
    ("wine glass", "wine glasses"), ("potted plant", "potted plants"),
)  # fmt: skip
"""Singular and plural."""

CATEGORIES = (
    "lighthouse", "trombone", "hedgehog", "teapot", "cauldron", "pelican", "tractor", "violin", "strawberry",
    "chainsaw", "totem pole", "mailbox",
)  # fmt: skip

ACTIONS = (
    "juggling balls", "peeling potatoes", "climbing a rope", "ironing", "playing chess", "shearing sheep", "archery",
    "folding napkins", "surfing water", "blowing glass",
)  # fmt: skip

SCENES = (
    "a windmill above a field of tulips", "a tram in a rainy street at night", "two foxes asleep under a birch tree",
    "a harbour with red fishing huts", "an old library with a spiral staircase", "a market hall full of lanterns",
    "a glass greenhouse in the snow", "a hot air balloon over a canyon",
)  # fmt: skip

QUESTIONS_ABOUT_IMAGES = (
    "Why might the street be so empty?", "What is the weather like?", "Which season do the trees suggest?",
    "What could the people be waiting for?", "What colour is the door on the left?",
    "How might the room be used in the evening?", "What makes the scene look old?", "Who might live in this house?",
)  # fmt: skip

QUESTIONS = (
    "Why do tides come later each day?", "How does a heat pump move heat from a cold place to a warm one?",
    "Write a limerick about a snail that wins a race.", "What is the difference between a comet and an asteroid?",
    "Give me a recipe for lentil soup with five ingredients.", "How do I reverse a list in Haskell?",
    "Explain to a child why the sky is dark at night.", "Which river flows through Basel?",
    "Suggest three names for a small bakery and say why they fit.", "What does the word 'serendipity' mean?",
)  # fmt: skip

MORE_QUESTIONS = (
    "Write a limerick about a {thing}.", "Where does the word '{category}' come from?",
    "What is the difference between a {thing} and a {category}?", "Explain to a child what a {category} is good for.",
    "How is a {category} usually made or raised?", "Give me three riddles whose answer is {things}.",
    "What should somebody know before they try {action}?", "Which countries are known for {action}?",
    "Tell me a short story in which a {thing} meets a {category}.", "How long have people known the {category}?",
    "Why might a museum show {things}?", "Suggest a name for a club of people who love {action}.",
)  # fmt: skip
"""Wordings of questions for hidden requests."""

MAPS = ("edge", "line", "hed", "scribble", "pose", "depth", "normal")
"""Maps that a tool `image_to_...` makes of an image."""

PLACES = ("harbour", "market", "meadow", "kitchen", "station", "attic", "garden", "bridge", "yard", "studio")
"""What files are named after."""
