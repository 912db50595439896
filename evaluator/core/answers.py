"""Typography of short answers: the marks that models write around a value, and letters that look alike.

================================================  ===========================
written                                           read as
================================================  ===========================
`**72**`, `__72__`, `` `72` ``, `"72"`              72
`\\boxed{72}`, `$72$`, `\\(72\\)`, `\\text{yes}`      72, yes
`\\frac{1}{2}`, `\\dfrac12`, U+00BD                  1/2
`3\\frac{1}{2}`, 3 before U+00BD                    3 1/2
U+2212, U+2012, U+2013, U+FE63, U+FF0D before 7   -7
digits and letters of full width                  digits and letters
decimal digits of other scripts                   0 to 9
U+2018, U+2019, U+02BC, U+0060, U+00B4            '
U+201C, U+201D, U+00AB, U+00BB                    "
no-break and thin spaces, ' between digits        thousands separators
`Answer: 72`, `The answer is 72`, `#### 72`        72
`<answer>72</answer>`, `<|begin_of_box|>72...`     72
zero-width and direction characters               nothing
superscript 2 after 10                            10^2
================================================  ===========================
"""

import re
import unicodedata

LONGEST = 65_536
"""Characters of an answer that are normalised; longer ones are returned as they are."""
_FOLDED = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bc\u02b9\u00b4\u0060\u2032\uff07", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u2033\uff02", '"'),
        **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014\u2015\ufe63\uff0d", "-"),
        "\u2044": "/",
        "\u2215": "/",
        "\u00d7": "x",
        **{
            mark: f"^{digit}"
            for digit, mark in enumerate("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
        },
    }
)
_THOUSANDS = re.compile(r"(?<=[0-9])['\u2019\u00a0\u2009\u202f\u2007](?=[0-9]{3}(?![0-9]))")
_MATHS = re.compile(r"\$(?!\s)([^$]*[^$\s])\$|\\\((.*)\\\)|\\\[(.*)\\\]", re.DOTALL)
_COMMAND = re.compile(r"\\(?:boxed|text|mathrm|mathbf|textbf|displaystyle)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\b")
_FRACTION = re.compile(r"(?P<whole>[0-9]\s*)?\\[dt]?frac\s*(?:\{([^{}]*)\}|([0-9]))\s*(?:\{([^{}]*)\}|([0-9]))")
_VULGAR = re.compile(r"(?<=[0-9])(?=[\u00bc-\u00be\u2150-\u215f])")
_TAGS = re.compile(r"<(?:answer|final_answer|\|begin_of_box\|)>([^<]*)<(?:/answer|/final_answer|\|end_of_box\|)>", re.I)
_AROUND = re.compile(r"(\*\*|__|\*|_|``|`|'|\")(?=\S)(.*\S)\1\.?", re.DOTALL)
_LABEL = re.compile(
    r"(?:#{1,6}\s+|(?:so,?\s+|therefore,?\s+|thus,?\s+|hence,?\s+)?(?:the\s+)?(?:final\s+)?answer\s*(?:is|:|=)\s*:?\s*)",
    re.IGNORECASE,
)
_HOPE = re.compile(r"\.?\s+I hope (?:it|this) is correct[.!]?\Z", re.IGNORECASE)
"""How models end an answer after the examples of Minerva's prompt."""
_MOST_LAYERS = 8


def without_typography(answer: str) -> str:
    """The value of an answer, without the marks of the module's table. Linear in its length."""
    if len(answer) > LONGEST:
        return answer
    text = _VULGAR.sub(" ", _THOUSANDS.sub(",", answer))
    text = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    text = unicodedata.normalize("NFKC", text.translate(_FOLDED)).translate(_FOLDED).strip()
    text = "".join(str(unicodedata.decimal(letter, letter)) for letter in text)
    text = _HOPE.sub("", text)
    is_one = len(_BOXED.findall(text)) < 2
    for _ in range(_MOST_LAYERS):
        before = text
        if (label := _LABEL.match(text)) is not None and text[label.end() :].strip():
            text = text[label.end() :].strip()
        if (maths := _MATHS.fullmatch(text.removesuffix("."))) is not None:
            text = next(group for group in maths.groups() if group is not None).strip()
        if (tags := _TAGS.fullmatch(text)) is not None:
            text = tags[1].strip()
        text = _FRACTION.sub(_fraction, text)
        if is_one:  # two boxes would become one text
            text = _COMMAND.sub(r"\1", text)
        text = text.replace(r"\,", ",").replace(r"\!", "").replace(r"\$", "$").replace(r"\%", "%")
        if (around := _AROUND.fullmatch(text)) is not None and around[1] not in around[2]:
            text = around[2].strip()
        if text == before:
            break
    return text


def _fraction(match: re.Match[str]) -> str:
    _, top, digit, bottom, other = match.groups()
    whole = f"{match['whole'].strip()} " if match["whole"] else ""
    return f"{whole}{digit if top is None else top}/{other if bottom is None else bottom}"
