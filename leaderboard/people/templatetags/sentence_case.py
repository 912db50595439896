"""Sentence case for titles, buttons and labels of allauth's pages, as on all other pages."""

import re

from django import template
from django.template.defaultfilters import stringfilter

register = template.Library()
_CAPITALISED = re.compile(r"(?<=[\s-])[A-Z][a-z]+\b")


@register.filter(is_safe=True)
@stringfilter
def sentence_case(text: str) -> str:
    """Lower-case all words but the first: "Sign In Via GitHub" becomes "Sign in via GitHub".

    Names with inner capitals and abbreviations are unchanged.
    """
    return _CAPITALISED.sub(lambda word: word[0].lower(), text.strip())
