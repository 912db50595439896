"""Words that the requests of the corpus speak of. Many of them, and some that no language has: texts are to be copied.

The names in `OBJECTS` are the 80 categories of COCO, which detectors and segmenters know; all other lists are our own.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


def words(text: str) -> tuple[str, ...]:
    """The items of a list separated by commas."""
    return tuple(item.strip() for item in text.replace("\n", " ").split(",") if item.strip())


OBJECTS = words(
    """person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop sign,
    parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella,
    handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard,
    surfboard, tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange,
    broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, tv, laptop,
    mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors,
    teddy bear, hair drier, toothbrush"""
)
NOUNS = words(
    """lighthouse, trombone, hedgehog, teapot, cauldron, pelican, tractor, violin, strawberry, chainsaw, totem pole,
    mailbox, badger, otter, lynx, walrus, falcon, woodpecker, salamander, beetle, dragonfly, snail, jellyfish, lobster,
    trout, beagle, greyhound, poodle, siamese cat, mountain goat, camel, bison, wild boar, hamster, squirrel, raccoon,
    penguin, flamingo, owl, sparrow, peacock, iguana, crocodile, tortoise, cobra, goldfish, starfish, sea urchin,
    accordion, cello, harp, drum, trumpet, banjo, oboe, grand piano, harmonica, hammer, screwdriver, wrench, shovel,
    rake, lawn mower, ladder, bucket, barrel, wheelbarrow, anvil, padlock, candle, lantern, desk lamp, mirror, pillow,
    quilt, rocking chair, wardrobe, bookcase, crib, bathtub, shower curtain, doormat, broom, envelope, typewriter,
    telescope, microscope, binoculars, compass, hourglass, abacus, stethoscope, syringe, crutch, wheelchair, ambulance,
    fire engine, tram, canoe, gondola, submarine, sailboat, ferry, steam locomotive, rocket, hot air balloon,
    parachute, helicopter, glider, windmill, castle, pagoda, mosque, barn, igloo, suspension bridge, viaduct, dam,
    fountain, obelisk, tombstone, scarecrow, tent, hammock, bonfire, snowman, sled, hockey stick, croquet ball,
    bowling pin, dumbbell, trampoline, dartboard, chess board, jigsaw puzzle, kimono, poncho, apron, cowboy hat,
    bow tie, mitten, sandal, boot, sock, necklace, pretzel, bagel, waffle, burrito, cheeseburger, meatloaf, mushroom,
    artichoke, cauliflower, zucchini, bell pepper, cucumber, pineapple, pomegranate, fig, lemon, coconut, acorn, corn,
    espresso, mug, pitcher, saucepan, frying pan, ladle, corkscrew, cleaver, cocktail shaker, vending machine, cash
    register, shopping cart, billboard, street sign, manhole cover, park bench, picket fence, volcano, waterfall,
    coral reef, iceberg, sand dune, geyser, cliff, valley, beach, red circle, blue square, green triangle, yellow star,
    door, window, wall, lamp, tree, flower, cloud, rock, path, curtain, rug, poster, sign, hat, shirt, dress, jacket,
    shoe, bag, basket, box, flag, statue, tower, roof, chimney, balcony, stairs, fence, gate, puddle, leaf, log"""
)
ACTIONS = words(
    """juggling balls, peeling potatoes, climbing a rope, ironing, playing chess, shearing sheep, archery, folding
    napkins, surfing water, blowing glass, swimming, running, rope skipping, walking the dog, milking a cow, knitting,
    sewing, weaving baskets, carving wood, welding, bricklaying, mowing the lawn, raking leaves, watering plants,
    planting trees, chopping wood, building a sandcastle, flying a kite, rock climbing, ice skating, skiing slalom,
    snowboarding, riding a camel, riding a unicycle, driving a tractor, rowing, sailing, canoeing, scuba diving, water
    polo, bowling, curling, fencing, judo, tai chi, yoga, push-ups, doing a handstand, somersaulting, high jump, javelin
    throw, shot put, hurdling, triple jump, playing the cello, playing drums, playing harmonica, beatboxing, singing,
    tap dancing, ballet, salsa dancing, breakdancing, applauding, laughing, crying, yawning, sneezing, shaking hands,
    hugging, waving, brushing teeth, shaving, braiding hair, applying make-up, painting a fence, drawing, writing,
    reading a newspaper, typing, using a computer, opening a bottle, pouring tea, making a sandwich, baking bread,
    flipping pancakes, frying eggs, grilling sausages, washing dishes, mopping the floor, making a bed, changing a
    wheel, washing a car, feeding goats, grooming a horse, catching fish, jumping into a pool, throwing an axe, moving
    up, turning around, growing, getting smaller, moving to the left, blinking, cutting an onion, kicking a ball,
    juggling fire, unboxing, vacuuming, clapping, whistling, stretching a leg, hammering, digging, spinning yarn"""
)
ADJECTIVES = words(
    """red, blue, green, yellow, orange, purple, white, black, brown, grey, pink, small, large, tiny, huge, old, young,
    wooden, rusty, shiny, broken, striped, round, tall, sleepy, wet, golden, stone, abandoned, crowded, quiet,
    colourful, snowy, foggy, sunny, ancient, modern, lonely, friendly, futuristic, medieval, glass, left, right,
    biggest"""
)
PLACES = words(
    """on a beach, in a forest, under a birch tree, above a field of tulips, in a rainy street at night, in the snow,
    on a mountain top, beside a lake, in a kitchen, on the moon, in outer space, over a canyon, at sunset, at dawn, in
    a busy market, on a wooden table, behind a window, in an old library, by the sea, in a desert, in a garden, on a
    bridge, in the rain, under water, in a bathtub, on a rooftop, in a castle, near a waterfall, on a train platform,
    in front of a red wall, on a white background, below a blue square, to the left of a green circle, at a desk"""
)
BEINGS = words(
    """fox, tiger, owl, robot, wizard, astronaut, child, dragon, knight, sailor, gardener, old man, queen, mermaid,
    rabbit, dolphin, panda, kitten, puppy, ballerina, farmer, chef, wolf, deer, woman, boy, girl, couple, cyclist"""
)
DOING = words(
    """sleeping, dancing, reading a book, drinking coffee, playing the guitar, riding a bicycle, flying a kite, eating
    noodles, looking at the stars, building a snowman, chasing a butterfly, walking, running, wearing a hat, fishing,
    painting a picture, holding a lantern, sitting, standing, smiling, cooking soup, playing chess, swimming"""
)
STYLES = words(
    """in the style of a woodcut, as an oil painting, in watercolour, as a pencil sketch, in pixel art, like an old
    photograph, in bright colours, in black and white, with soft light, in a cartoon style, in high detail, with fog"""
)
TOPICS = words(
    """heat pumps, tides, photosynthesis, the Roman Empire, inflation, black holes, recursion, lentil soup, the French
    Revolution, vaccines, renewable energy, quantum computers, good sleep, the water cycle, plate tectonics, chess
    openings, jazz, the Renaissance, machine learning, blockchain, yoga, coffee, climate change, the human heart,
    earthquakes, bees, ocean currents, democracy, gravity, evolution, antibiotics, volcanoes, glaciers, the moon, wine,
    bread, public speaking, time management, the stock market, Shakespeare, Buddhism, the immune system, steel, rivers,
    batteries, stage fright, sourdough, gardening, marathon training, job interviews, the Silk Road, solar panels"""
)
LANGUAGES = words("French, German, Spanish, Italian, Japanese, Latin, Swedish, Polish, Greek, Chinese, Portuguese")
CODE = words("Python, Java, Haskell, Rust, JavaScript, SQL, C, Go, Ruby, R, Perl, Bash")
_SYLLABLES = words("ba, ko, ri, mun, tel, sa, vor, pli, gra, ne, du, fex, ol, mi, tra, zen, pu, lor, qui, ha, wem, sto")


def pick(rng: np.random.Generator, items: Sequence[Item]) -> Item:
    """One of them, all equally likely."""
    return items[int(rng.integers(len(items)))]


def invented(rng: np.random.Generator) -> str:
    """A word that no language has."""
    return "".join(pick(rng, _SYLLABLES) for _ in range(int(rng.integers(2, 4))))


def plural(noun: str) -> str:
    """Several of what a noun names."""
    irregular = {"person": "people", "mouse": "mice", "knife": "knives", "sheep": "sheep", "skis": "skis",
                 "scissors": "scissors", "leaf": "leaves", "broccoli": "broccoli", "stairs": "stairs",
                 "binoculars": "binoculars", "goldfish": "goldfish", "trout": "trout", "jellyfish": "jellyfish",
                 "starfish": "starfish", "corn": "corn"}  # fmt: skip
    before, _, last = noun.rpartition(" ")
    if last in irregular:
        several = irregular[last]
    elif last.endswith("y") and last[-2:-1] not in set("aeiou"):
        several = f"{last[:-1]}ies"
    else:
        several = f"{last}es" if last.endswith(("s", "x", "ch", "sh", "z")) else f"{last}s"
    return f"{before} {several}" if before else several


def with_article(noun: str) -> str:
    """A noun behind its indefinite article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
