"""The sign-in pages' titles, buttons and labels in the case of all other pages."""

import re

from django import template
from django.template.defaultfilters import stringfilter

register = template.Library()
_CAPITALISED = re.compile(r"(?<=[\s-])[A-Z][a-z]+\b")


@register.filter(is_safe=True)
@stringfilter
def sentence_case(text: str) -> str:
    """Lower-case all words but the first: "Sign In Via GitHub" becomes "Sign in via GitHub".

    Names with a capital letter inside and abbreviations stay as they are.
    """
    return _CAPITALISED.sub(lambda word: word[0].lower(), text.strip())
