"""Refusals in words in place of an answer."""

import re

from evaluator.core.answers import without_typography

_REFUSAL = re.compile(
    r"""(?:(?:no|yes|well|sorry|but)\b\W*){0,3}(?:
    as\ an?\ (?:ai|(?:large\ )?language\ model)\b
    |i\ (?:can(?:not|\ not|'t)|could(?:\ not|n't)|will\ not|won't)(?:\W*$|\ (?:\w+ly\ )?(?:answer|assist|comply|complete
        |decide|determine|do|find|fulfil|fulfill|give|handle|help|meet|perform|process|provide|say|solve|tell|verify)\b)
    |(?:i'm|i\ am)\ (?:unable|not\ (?:able|allowed|certain|sure))\b
    |i\ (?:do\ not|don't)\ (?:know|have)\b
    |i\ (?:must\ |have\ to\ |would\ |will\ )?(?:refuse|decline|abstain|give\ up)\b
    )
    |(?:(?:i'm|i\ am|we're|we\ are)\ (?:sorry|afraid|unable)|unfortunately|i\ apologi[sz]e)\b
    |sorry(?:[,.!;]|$|\ (?:but|for|i|that|we)\b)
    |we\ (?:cannot|can't|are\ not\ able\ to|do\ not\ know|don't\ know)\b
    |(?:unable|not\ able|impossible|not\ possible)\ to\b
    |(?:it|this|that)\ (?:is\ (?:impossible|not\ possible)|cannot\ be|can't\ be)\b
    |(?:the|this)\ (?:answer|question|request|task)\ (?:cannot|can't|is\ (?:impossible|unanswerable|unknown))\b
    |(?:there\ is\ )?(?:no|not\ enough|insufficient)\ (?:context|data|information|tool)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""After a verdict such as `No,` only what the writer says of himself: `No, it is not possible.` answers a question."""
_REFUSAL_LENGTH = 2000


def refuses(answer: str) -> bool:
    """Whether an answer in words begins as a refusal, such as `I cannot help with that.` or `No, I can't say.`

    An answer may be right all the same, such as the title of a song; compare it with its reference first.
    """
    text = " ".join(without_typography(answer[:_REFUSAL_LENGTH]).split())
    return _REFUSAL.match(text) is not None
