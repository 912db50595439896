"""Paraphrases of the sentences of the miniature tasks, with the same meaning and values."""

from evaluator.core.suites.rewording import Rewording

_NOTICE = (
    "If there is {shape} in the picture {image}, answer from the text {notice}: {question} Otherwise answer: {other}?"
)
_TWO_PICTURES = (
    "One of the pictures {image} and {other} shows {shape}, the other does not. Of the one that does, answer: "
    "{question}"
)
PARAPHRASES = Rewording({
    # maths
    "{who} has {count} {things}.": ("{count} {things} belong to {who}.",),
    "{who} buys {count} more.": ("Then {who} buys another {count}.",),
    "{who} finds {count} more.": ("Then {who} finds another {count}.",),
    "{who} makes {count} more.": ("Then {who} makes another {count}.",),
    "{who} gives {count} to {other}.": ("{other} is given {count} of them by {who}.",),
    "{who} sells {count} to {other}.": ("{other} buys {count} of them from {who}.",),
    "{who} lends {count} to {other}.": ("{other} is lent {count} of them by {who}.",),
    "A week later {who} has {count} times as many.": ("After a week {who} has {count} times this number.",),
    "{who} gets {count} boxes with {each} {things} in each.": (
        "{count} boxes, each with {each} {things}, are brought to {who}.",
    ),
    "How many {things} does {who} have?": ("What is the number of {things} that {who} has?",),
    "{who} shares them equally among {count} friends. How many {things} does each friend get?": (
        "{count} friends of {who} get equal shares of all of them. What is the number of {things} of each friend?",
    ),
    "{who} sells all of them for {count} coins each. How many coins does {who} get?": (
        "All of them are sold by {who}, each for {count} coins. What is the number of coins that {who} gets?",
    ),
    "{other} has {count} more {things} than {who}. How many do they have together?": (
        "{who} has {count} fewer {things} than {other}. What is the number that they have together?",
    ),
    # chronicles
    "According to the chronicle of {town}: {question}": ("Find the answer in the chronicle of {town}: {question}",),
    # pictures
    "Look at the picture {image}. {question}": ("Here is the picture {image}. {question}",),
    _NOTICE: (
        "Does the picture {image} show {shape}? If it does, answer from the text {notice}: {question} If not: {other}?",
    ),
    _TWO_PICTURES: (
        "Only one of the pictures {image} and {other} shows {shape}. Answer about that one: {question}",
    ),
    # shop
    "I want a {features} {noun} in {colour}, size {size}, for at most {most} coins.": (
        "Please get me a {features} {noun} in {colour}, size {size}; I pay at most {most} coins.",
    ),
    "Buy a {features} {noun}. It must be {colour} and {size}, and cost no more than {most} coins.": (
        "Please get me a {features} {noun}. It has to be {colour} and {size}, for no more than {most} coins.",
    ),
    "I need a {noun} that is {features}, {colour} and {size}; the price must not exceed {most} coins.": (
        "Please buy a {noun} that is {features}, {colour} and {size}, at a price of {most} coins or less.",
    ),
    # the market's database
    "How many people are older than {age}?": ("What is the number of people older than {age}?",),
    "What are the names of the people who live in {town}?": ("Who lives in {town}? Give the names of these people.",),
    "What is the average price of things of the kind {kind}?": (
        "Of all things of the kind {kind}, what is the average price?",
    ),
    "How many sales were there at each place?": ("For each place, give the number of sales there.",),
    "List the names and ages of the people from the oldest to the youngest, if they are older than {age}.": (
        "Of the people older than {age}, list the names and ages, the oldest first.",
    ),
    "What did {name} sell on {day}? Give the names of the things.": (
        "Give the names of the things that {name} sold on {day}.",
    ),
    "Which people sold nothing at the {place}? Give their names.": (
        "Give the names of the people who sold nothing at the {place}.",
    ),
    "What are the names of the things that are dearer than the {thing}?": (
        "Name the things whose price is higher than that of the {thing}.",
    ),
    "Which {count} people sold most often? Give their names and the number of their sales.": (
        "Give the names of the {count} people who sold most often, and the number of their sales.",
    ),
    "In which towns do people live who sold a {thing} on {day} or at the {place}?": (
        "Some people sold a {thing} on {day} or at the {place}; in which towns do they live?",
    ),
    # the gallery's
    "How many pictures show {background}?": ("What is the number of pictures that show {background}?",),
    "What are the titles of the pictures that {painter} painted?": (
        "Give the titles of the pictures painted by {painter}.",
    ),
    "How many objects of each colour are there?": ("For each colour, give the number of objects.",),
    "What are the titles of the pictures with a {colour} {shape}?": (
        "Give the titles of the pictures that show a {colour} {shape}.",
    ),
    "List the titles and years of the pictures painted after {year}, the newest first.": (
        "Of the pictures painted after {year}, list the titles and years, beginning with the newest.",
    ),
    "Which pictures by {painter} have no {shape}? Give their titles.": (
        "Give the titles of the pictures by {painter} that have no {shape}.",
    ),
    "Which painters have more than {count} pictures?": ("Name the painters with more than {count} pictures.",),
    "How many {size} objects has each painter painted? Begin with the highest number.": (
        "For each painter, give the number of {size} objects painted, the highest number first.",
    ),
    "Which painters painted a {colour} {shape} before the newest picture of {background}?": (
        "Before the newest picture of {background}, which painters painted a {colour} {shape}?",
    ),
    # the post's
    "How many letters are heavier than {weight}?": ("What is the number of letters heavier than {weight}?",),
    "Which towns are in the {region}?": ("Name the towns in the {region}.",),
    "How many people live in each region?": ("For each region, give the number of people who live there.",),
    "To which towns did {town} send letters on {day}?": (
        "On {day}, {town} sent letters; name the towns to which they went.",
    ),
    "Which towns got no letter on {day}?": ("Name the towns that got no letter on {day}.",),
    "Which towns have more people than {town}?": ("Name the towns with more people than {town}.",),
    "Which {count} towns sent the heaviest letters in all? Give name and total weight.": (
        "Give name and total weight of the {count} towns that sent the heaviest letters in all.",
    ),
    "How many letters from the {region} went to towns with more than {people} people?": (
        "What is the number of letters from the {region} that went to towns with more than {people} people?",
    ),
})  # fmt: skip
