"""What is said of tableaux and clips."""

from evaluator.miniature.grammar.german import capitalised, english_article
from evaluator.miniature.grammar.labels import BACKGROUNDS
from evaluator.miniature.tableaux.clips import ClipRecord


def clip_caption(clip: ClipRecord) -> str:
    """What moves in a clip and how, for example `A red star is rising to the left on a green background.`"""
    name, ground = clip.mover.name, BACKGROUNDS[clip.background].english
    subject = capitalised(f"{english_article(name)} {name}")
    return f"{subject} is {clip.motion} on {english_article(ground)} {ground} background."
