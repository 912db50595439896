"""What each part of a request demands, and which tools do it: the rules by which the chain declines.

A part is a sentence, or a clause with its own verb ("Crop it and email it" has two). Its verb, or the noun of the
wanted result if the verb is light ("make", "give", "I need"), names an act, and each act has the tools that do it. The
world is closed: a verb or a result that no act has is demanded of a tool that does not exist, so the part is declined,
however similar its words are to a tool's description. So is an act on the wrong kind of file, such as cropping a video,
and one whose result is to go where no tool delivers, such as a telephone.

Remarks ("Do nothing else.") and statements ("A cat sits on a mat.") demand nothing.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from evaluator.controlllm.strategies import text_tools
from evaluator.controlllm.strategies.verbs import may_be_verb
from evaluator.core.tools.types import ResourceType, Tool


@dataclass(frozen=True, slots=True)
class Demand:
    """What one part of a request demands."""

    tools: frozenset[str] = frozenset()
    """The tools that do it, any of which may make its result."""
    lacks: str = ""
    """Why no tool does it, as part of a sentence; empty if one does, or if nothing is demanded."""

    @property
    def is_empty(self) -> bool:
        """Whether the part is a remark."""
        return not self.tools and not self.lacks


def _words(*choices: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(choices)})\b", re.IGNORECASE)


_IMAGE, _VIDEO, _AUDIO, _TEXT = ResourceType.IMAGE, ResourceType.VIDEO, ResourceType.AUDIO, ResourceType.TEXT
_COUNTS = ("count_objects", "count_masks", "count_categories")
_ASKED = ("image_question_answering",)
_MASKS = ("image_instance_segmentation", "select_mask", "segment_anything", "image_segmentation_by_mask")
_BOXES = ("object_detection", "visual_grounding", "select_bbox")
_CLASSES = ("image_classification", "video_classification", "audio_classification", "select_category")
_CAPTIONS = ("image_captioning", "video_captioning")
_WRITERS = ("text_to_text_generation", "openai_chat_model")
_EDITORS = ("text_image_editing", "partial_image_editing")
_ANNOTATORS = ("title_generation", "text_to_tags", "named_entity_recognition", "summarization", "sentiment_analysis",
               "extract_location")  # fmt: skip
"""Tools that annotate a text."""
_ALONG = {
    "line": ("lines?", "line (?:map|drawing)"),
    "hed": ("hed", "soft edges?", "hed map"),
    "scribble": ("scribbles?", "sketch", "doodle"),
    "pose": ("poses?", "skeleton", "posture"),
    "segmentation": ("segments?", "segment(?:ation)? map"),
    "edge": ("edges?", "edge map", "canny"),
    "depth": ("depths?",),
    "normal": ("normals?", "normal map"),
}

_NOUNS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_words("web ?pages?", "web ?sites?", "html"), ("video_to_webpage",)),
    (_words("weather", "forecast"), ("get_weather",)),
    (_words("(?:current|local) time", "time of day", "time"), ("get_time",)),
    (_words("music", "melod(?:y|ies)", "tunes?", "songs?", "jingle", "soundtrack"), ("text_to_music",)),
    (_words("transcripts?", "transcriptions?"), ("speech_to_text", text_tools.READER)),
    (_words("speech", "narration", "voice-?over", "spoken version", "audio(?: version| file)?", "recording"),
     ("text_to_speech",)),
    (_words("soft[- ]edges?", "soft[- ]edge map", "hed", "hed map", "holistic(?:ally)?"), ("image_to_hed",)),
    (_words("(?:segment(?:ation)? )(?:map|result|output)", "map of (?:all )?(?:its |the )?segments?", "segments"),
     ("segment_anything",)),
    (_words("edge(?:s| map| result| output| image| detection)?", "canny"), ("image_to_edge",)),
    (_words("(?:straight )?lines?(?: map| drawing| result| output)?"), ("image_to_line",)),
    (_words("scribbles?", "(?:rough |quick )?sketch", "doodle"), ("image_to_scribble",)),
    (_words("poses?", "skeletons?", "postures?", "body keypoints"), ("image_to_pose",)),
    (_words("depths?", "distances?", "distance map", "how (?:far|near|close|deep)"), ("image_to_depth",)),
    (_words("(?:surface )?normals?", "normal map"), ("image_to_normal",)),
    (_words("masks?", "segmentations?", "silhouettes?", "pixels"), (*_MASKS, "image_segmentation_by_points")),
    (_words("bounding[- ]box(?:es)?", "box(?:es)?", "bbox(?:es)?", "positions?", "coordinates", "whereabouts",
            "locations?"), _BOXES),
    (_words("numbers?", "counts?", "quantity", "quantities", "total", "amount", "tally"), (*_COUNTS, *_ASKED)),
    (_words("captions?", "descriptions?", "sentences?"), _CAPTIONS),
    (_words("answers?", "repl(?:y|ies)"), (*_ASKED, *_WRITERS)),
    (_words("names? of (?:the )?(?:main |different )?(?:objects?|things?|animals?|actions?|motions?)",
            "categor(?:y|ies)",
            "class(?:es)?", "labels?", "(?:main )?(?:objects?|subjects?|things?)", "actions?", "motions?", "movements?",
            "activit(?:y|ies)", "kinds?"), _CLASSES),
    (_words("poems?", "limericks?", "stor(?:y|ies)", "essays?", "haikus?", "jokes?", "lyrics", "letter to", "slogans?",
            "speech for", "explanations?", "paragraphs?", "rhymes?", "recipes?", "names?", "ideas?", "tips", "advice",
            "suggestions?", "dialogues?", "riddles?", "toasts?", "definitions?"), _WRITERS),
    (_words("variations?", "variants?", "alternative versions?", "(?:another|similar|different) versions?",
            "(?:something|image|picture|photo|one|version)s? (?:that is |which is )?similar"), ("image_to_image",)),
    (_words("words?", "texts?", "writings?", "letters", "letterings?", "inscriptions?"), (text_tools.READER,)),
    (_words("videos?", "clips?", "films?", "movies?", "animations?"),
     ("image_to_video", "text_to_video", "image_audio_to_video")),
    (_words("images?", "pictures?", "photos?", "photographs?", "drawings?", "paintings?", "illustrations?", "artworks?",
            "scenes?", "renderings?", "portraits?", "posters?", "logos?", "postcards?", "wallpapers?"),
     ("text_to_image",)),
)  # fmt: skip
"""Wanted results and the tools that make them. The first word of the noun phrase decides, then this order."""

_VERBS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_words("count", "tally", "enumerate", "add up", "tot(?:al)? up"), (*_COUNTS, *_ASKED)),
    (_words("cut out", r"cut (?:.*?)\bout", "isolate", "mask out", "(?:show|leave|give)(?: me)? (?:only|just"
    r"|nothing but) the", "keep only", "keep just", "keep", "leave only"),
     ("mask_image",)),
    (_words(r"(?:extract|separate|pick out|lift|take out|split off) "
            r"(?!.*\b(?:text|words?|writing|letters|audio|sound|frames?|"
            r"colou?rs?|maps?|edges?|lines?|pose|depth|normals?|masks?|segments?)\b(?! of)(?! it)(?!$))(?:the|a|an"
            r"|every|each|"
            r"all) \w+(?: \w+)? (?:from|out of|of|in)", "disentangle"), ("mask_image",)),
    (_words("crop", "clip out", "cut"), ("image_cropping",)),
    (_words("remove", "erase", "delete", "eliminate", "get rid of", "take out", "take away", "wipe out", "wipe away",
            "inpaint", "clean away", "retouch away", "edit out", r"(?:take|get) .*\b(?:out of|away from)", "drop"),
     ("image_inpainting",)),
    (_words("highlight", "mark", "outline", "frame", "circle", r"(?:draw|put|place) (?:a |an |the )?(?:\w+ )?"
            r"(?:box|boxes|border|borders|rectangle|frame)(?: around)?"), ("highlight_object_on_image",)),
    (_words("segment", "mask"), (*_MASKS, "image_segmentation_by_points")),
    (_words("detect", "locate", "find", "spot", "localise", "localize", "box", "look for", "search"), _BOXES),
    (_words("classify", "recognise", "recognize", "identify", "categorise", "categorize", "label", "name"), _CLASSES),
    (_words("describe", "caption", "narrate"), _CAPTIONS),
    (_words("read", "transcribe", "ocr", "decipher"), (text_tools.READER, "speech_to_text")),
    (_words("summari[sz]e", "shorten", "condense", "abridge", r"sum .*\bup", "sum up", "boil .*down"),
     ("summarization",)),
    (_words("tag"), ("text_to_tags",)),
    (_words("title", "entitle"), ("title_generation",)),
    (_words("answer", "reply", "respond"), (*_ASKED, *_WRITERS)),
    (_words("explain", "write", "compose", "invent", "tell (?:me |us )?(?:a|an) (?:joke|story)"), _WRITERS),
    (_words("dub"), ("dub_video",)),
    (_words("animate"), ("image_to_video",)),
    (_words("film"), ("text_to_video",)),
    (_words("speak", "say", "pronounce", "vocalise", "vocalize"), ("text_to_speech",)),
    (_words("replace", "swap", "change", "edit", "modify", "alter", "recolou?r", "repaint", "colou?r", "add", "put",
            "dye",
            "brighten", "darken", "stylise", "stylize", "restyle", "redraw", "tint"), _EDITORS),
    (_words("vary"), ("image_to_image",)),
    (_words("trace"), ()),
)  # fmt: skip
"""Verbs that say by themselves what is wanted, and the tools that do it; none: the noun decides."""
_OF_PARTICIPLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("removed", "erased", "deleted", "gone", "eliminated"), ("image_inpainting",)),
    **dict.fromkeys(("cropped",), ("image_cropping",)),
    **dict.fromkeys(("isolated", "cut out"), ("mask_image",)),
    **dict.fromkeys(("highlighted", "marked", "outlined", "circled", "framed"), ("highlight_object_on_image",)),
    **dict.fromkeys(("segmented",), _MASKS),
    **dict.fromkeys(("detected", "located", "boxed"), _BOXES),
    **dict.fromkeys(("counted",), (*_COUNTS, *_ASKED)),
    **dict.fromkeys(("described", "captioned"), _CAPTIONS),
    **dict.fromkeys(("classified", "identified", "recognised", "recognized"), _CLASSES),
    **dict.fromkeys(("replaced", "recoloured", "recolored", "changed", "repainted"), _EDITORS),
    **dict.fromkeys(("read", "transcribed"), (text_tools.READER,)),
    **dict.fromkeys(("summarised", "summarized", "shortened"), ("summarization",)),
    **dict.fromkeys(("tagged",), ("text_to_tags",)),
}
_DONE = re.compile(rf"\b({'|'.join(_OF_PARTICIPLES)})\b", re.IGNORECASE)
"""A wish for something to be done: "I want the dog removed"."""
_DRAWS = _words("draw", "paint", "illustrate", "depict", "imagine", "picture", "visualise", "visualize", "sketch",
                "generate", "create", "render", "produce", "design", "make", "invent")  # fmt: skip
_LIGHT = _words(
    "make", "give", "create", "produce", "generate", "get", "show", "return", "provide", "have", "want", "need", "like",
    "extract", "compute", "calculate", "estimate", "obtain", "derive", "build", "turn", "convert", "transform",
    "process",
    "render", "deliver", "prepare", "take", "use", "apply", "perform", "do", "draw", "paint", "design", "list", "tell",
    "find out", "work out", "figure out", "determine", "infer", "predict", "try", "run", "trace", "fetch", "supply",
    "send me", "hand me", "bring me", "illustrate", "depict", "imagine", "picture", "sketch", "map", "check", "see",
    "know", "verify", "confirm", "measure", "search", "collect", "compile", "offer",
    "visualise", "visualize", "ask", "decide", "suggest", "propose", "come up with", "think of", "let",
    "retrieve", "report", "state", "output", "present", "display", "let me have", "look up", "write down", "pull out",
    "split", "divide", "separate", "pick out", "point out", "indicate",
)  # fmt: skip
_INTO = re.compile(
    r"\b(?:turn|convert|transform|make|process|change|divide|split)\b.*?\b(?:in|to|into|as)\s+(.*)", re.IGNORECASE
)
_CHANGED = re.compile(
    r"\b(?:make|turn|let|have|render)\s+(?:the|it|its|every|all|this|that|his|her)\b(?!\s*$)(?!.*\b(?:in|to"
    r"|as)?to a\b).*",
    re.IGNORECASE,
)
_SIZES = _words(
    "(?:much )?(?:smaller|larger|bigger|wider|taller|shorter|longer|sharper|louder|quieter|faster|slower)",
    "square",
    "(?:higher|better) (?:quality|resolution)",
    "landscape format",
    "portrait format",
    r"\d+ ?(?:px|pixels|percent|dpi)",
)
"""Changes of the file, not of what the picture shows."""
_STARTS = re.compile(
    r"^\W*(?:(?:please|kindly|now|also|and|then|first|next|finally|so|hi|hello|hey|ok|okay|in addition|additionally|"
    r"besides|moreover|again|just|simply|quickly|carefully|lastly|secondly|afterwards|after that|later|if you (?:can"
    r"|could|would|please))\b\W*)+",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"^\W*(?:(?:(?:a|one|my|another|here is a|the) )?question (?:about|on|for|concerning|regarding) [^:,?]+[:,]"
    r"|for (?:each|all|every one) (?:of )?[^:?]+:|(?:in|about|regarding|concerning|as for|on) (?:the |this |my )?"
    r"(?:image|picture|photo|video|clip)\s*[:,])\s*",
    re.IGNORECASE,
)
"""What a question or an order is about, before it."""
_POLITE = re.compile(
    r"^\W*(?:(?:can|could|would|will) (?:you|i|we)(?: please| kindly| be so kind as to| help me(?: to)?| get| have)?"
    r"|(?:i|we)(?:'d| would| should)? (?:want|need|like|love|wish|have)(?: you)? to(?: have| get| see| know)?"
    r"|would you mind|i am asking you to|you should|help me(?: to)?|let us|let's|may i(?: have| get)?"
    r"|it would be nice to"
    r"|your task is to|is it possible to|are you able to|do me a favou?r and|go ahead and)\b\W*(?:please\b\W*)?",
    re.IGNORECASE,
)
_WISHES = re.compile(
    r"^\W*(?:i|we)(?:'d| would| am| are|'m|'re)?\s+(?:also |only |just |really |still )?"
    r"(?:want|need|like|love|looking for|after|require|wish for|interested in)\s+",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"^\W*(?:do (?:this|that|it|not|nothing)\b|don't\b|look at (?:the )?\w+\W*$|this is (?:all|it|urgent)\b|thank"
    r"|thanks"
    r"|(?:leave|keep|make|let|hide|blank out|turn|paint|black out|fill|drop|ignore|forget) (?:out )?(?:all "
    r"|everything |any |away )?"
    r"(?:of )?(?:the |that )?(?:rest|others?\b|else|background black|remaining)|do without|take your time"
    r"|(?:tell|list|say|name) (?:it|them|that|those)(?: (?:all|in (?:a|one) (?:\w+ )?(?:sentence|word|list)))?\W*$"
    r"|(?:drop|lose|remove|black out) (?:its|the) background\W*$|.*\bnothing of\b(?!.*, so\b).*\bbut\b"
    r"|everything else|all the rest|nothing else|ignore\b|never mind|note that|remember that|be (?:careful|quick"
    r"|precise)"
    r"|use (?:only )?(?:the|this|that|it)\b(?! .*\b(?:to|for|and)\b)|labels? (?:are|is) not|no labels?\b"
    r"|without labels"
    r"|consider (?:the )?\w+\W*$|here (?:is|are)\b|see (?:the )?\w+\W*$|take (?:a look at )?(?:the )?(?:image"
    r"|picture|"
    r"photo|video|clip)\W*$)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^\W*(?:what|which|who|whose|whom|where|when|why|how|is|are|was|were|does|do|did|has|have|can|could|will|would|"
    r"should|in (?:what|which)|on (?:what|which)|at (?:what|which)|of (?:what|which)|to (?:what|which)|for (?:what"
    r"|whom)"
    r"|with (?:what|which)|from (?:what|which)|am|must|may)\b",
    re.IGNORECASE,
)
_CLAUSE_QUESTION = re.compile(
    r"\b(?:whether|if|what|which|who|whose|where|why|how(?: many| much)?|when)\b", re.IGNORECASE
)
_DETERMINERS = frozenset({
    "a", "all", "an", "another", "any", "anyone", "both", "each", "every", "everyone", "everything", "he",
    "her", "here", "his", "i", "it", "its", "my", "no", "nobody", "one", "other", "our", "she", "some",
    "somebody", "someone", "something", "such", "that", "the", "their", "them", "there", "these", "they",
    "this", "those", "three", "two", "we", "you", "your",
})  # fmt: skip
_SUBJECTS = frozenset({
    "both", "he", "i", "it", "my", "neither", "nobody", "our", "she", "there", "they", "we", "you",
})  # fmt: skip
"""First words of statements, which only demand something as a wish or a question."""
_LATE_SUBJECT = re.compile(
    r"^\W*(?:(?:tomorrow|yesterday|today|tonight|later|soon|meanwhile|luckily|sadly|unfortunately)\b|(?:on|in|at"
    r"|until|since|by|because|although|while|when|after|before|if|as) (?:\w+ ){0,3}?\w+),? "
    r"(?:i|we|you|he|she|they|it)\b(?! (?:want|need|would|'d)\b)",
    re.IGNORECASE,
)
_SPEAKS_BACK = re.compile(r"\b(?:it|them|this|that|those|these)\b", re.IGNORECASE)
_WONDERS = re.compile(
    r"^\W*(?:i|we)(?:'d| would| am|'m| do| have| must| need| want)?(?: really| also| like| love| have)*"
    r"(?: to know| know| to see| to find out| to check| to be sure| wonder(?:ing)?| curious(?: to know)?| not sure"
    r"| not know"
    r"| unsure| interested)\b(?: about| in)? ?(?=.*\b(?:if|whether|what|which|who|where|how|why|when)\b)",
    re.IGNORECASE,
)
_LOOKS = re.compile(r"^\W*(?:take|use|watch|look at|inspect|open|examine|view|consider|study|load)\b", re.IGNORECASE)
_CHECKS = re.compile(
    r"^(?:check|search|scan|inspect|look (?:through|in|at)|go through|examine)\b.*\bfor\b", re.IGNORECASE
)
_PLEASE = re.compile(
    r"(?:,|;) (?:(?:so |and |but )?(?:please|kindly|can you|could you)(?: please)?|so) (?=\w)", re.IGNORECASE
)
"""Before the order in a statement: "I do not like the lamp, so please remove it"."""
_PREPOSITIONS = frozenset({
    "about", "according", "after", "along", "although", "as", "at", "based", "because", "before", "by", "for",
    "from", "given", "if", "in", "of", "on", "over", "since", "through", "to", "under", "unless", "until",
    "using", "when", "where", "while", "with", "within", "without",
})  # fmt: skip
_ELSEWHERE = re.compile(
    r"\b(?:e-?mail\w*|sms|text message|whatsapp|telegram|tweet|twitter|facebook|instagram|youtube|upload\w*"
    r"|download\w*"
    r"|3-?d\b|three-dimensional|pdf|powerpoint|spreadsheet|excel|word document|svg|vector graphic|slide ?show"
    r"|(?:each|every|all|single) frames?|frame by frame|exif|metadata|file size|resolution|megapixels?|password"
    r"|desktop|folder|on paper|by post|credit card|clipboard|hologram|sign language|braille|morse|gif|zip file"
    r"|jpe?g format|tiff"
    r"|database"
    r"|(?:kilo|mega|giga)?bytes?|kb|mb|newsletter|podcast|hard (?:disk|drive)|slow[- ]motion|time-?lapse|panorama"
    r"|collage|upside down|thumbnail|share price"
    r"|exchange rate)\b"
    r"|\b(?:to|on|from|at|onto|in|with|for) (?:my|our|his|her|their) (?!own\b)(?:\w+ ){0,2}"
    r"(?:phone|telephone|mobile|website|site|disk|laptop|computer|pc|neighbou?r|boss|mother|father|aunt|uncle"
    r"|friends?|"
    r"office|account|wall|desk|profile|page|inbox|colleagues?|team|client|customers?|doctor|bank|sister|brother|wife|"
    r"husband|son|daughter|teacher|list|notes|diary|album|shop|basket|cart|landlord|blog|fridge|tv|television"
    r"|smartwatch|watch|car)\b"
    r"|\b(?:in|into|to|from) (?:french|german|spanish|italian|english|chinese|japanese|latin|russian|dutch"
    r"|portuguese|"
    r"polish|korean|arabic|hindi|swedish|greek|turkish)\b|\btranslat\w+",
    re.IGNORECASE,
)
"""Results and places that no tool makes or reaches."""
_ALOUD = re.compile(r"\b(?:aloud|out loud|loudly|with a \w+ voice)\b", re.IGNORECASE)
_NOT_SEEN = re.compile(
    r"\b(?:cost|price|prices|worth|buy|bought|for sale|sold|taken|photographer|camera|photographed|shot|address"
    r"|phone "
    r"number|how (?:old|large|big|heavy) is the file|file|megabytes?|bytes|kilobytes|dpi|pixels?|licen[cs]e|copyright"
    r"|weigh|weighs|heart rate|smell\w*|taste|temperature|tomorrow|next week|currently|today|yesterday|calories"
    r"|surname"
    r"|edited|photoshopped|uploaded|downloaded|population|president|invented|heavy|weight|(?:kilo)?grams?|kilos?"
    r"|pounds?|(?:centi|kilo)?met(?:er|re)s?|inches|miles|expensive|loud"
    r"|how (?:fast|warm|hot|cold)|lens|aperture|shutter|(?:which|what) date|created|(?:which|what|whose) \w+ took"
    r"|who (?:painted|made|drew|built|designed|owns|wrote|sent"
    r"|posted|created)|gps"
    r"|latitude|longitude|stored)\b",
    re.IGNORECASE,
)
"""What no answer about a picture can be read from the picture."""
_NOT_OF_CLIPS = re.compile(
    r"\b(?:how (?:long|many|much|often|fast|old)|colou?rs?|when|why|who|whose|where|says?|said|heard|sound|hear"
    r"|spoken"
    r"|duration|seconds?|minutes?|frames?)\b",
    re.IGNORECASE,
)
_MAP_WORDS = re.compile(
    r"\b(?:(?:soft )?edges?|lines?|hed|scribbles?|sketch|poses?|skeleton|segment(?:ation)?s?|depths?|normals?)\b"
    r"(?: maps?| drawings?| results?| outputs?)?",
    re.IGNORECASE,
)
_SIMILAR = re.compile(r"\b(?:similar|another|variation|variant|like (?:it|this|the image)|based on)\b", re.IGNORECASE)
_MEDIA_WORDS = re.compile(
    r"\b(?:the|this|that|my|these) (?:\w+ )?(?:images?|pictures?|photos?|videos?|clips?|attachments?|drawing"
    r"|recording)\b"
    r"|\battached\b",
    re.IGNORECASE,
)
_ALONG_WORDS = _words("using", "use", "with", "along", "from", "by", "based on", "take", "following")
_NP_ENDS = re.compile(
    r"\b(?:of|in|from|for|on|with|that|which|showing|shows|to|by|where|who|at|under|around|out|along|as|using|"
    r"containing|about|and|into|onto)\b|[,:;.?!]",
    re.IGNORECASE,
)
_TIME = re.compile(r"\bwhat(?:'s| is)? (?:the )?(?:current |exact |local )?time\b|\btime is it\b", re.IGNORECASE)
_WEATHER = _words("weather", "forecast", "rain(?:ing|s)?", "snow(?:ing|s)?", "sunny", "temperature", "umbrella")
_POINTS = re.compile(
    r"\b(?:points?|pixels?|coordinates?|position) (?:at )?\(?\d+\s*[,/x; ]\s*\d+|\bat \(?\d+\s*,\s*\d+", re.IGNORECASE
)
_WHOLE_FILE = re.compile(
    r"\b(?:remove|erase|delete|eliminate|get rid of|drop)\s+(?:please\s+)?(?:the\s+|this\s+|that\s+|my\s+)?"
    r"(?:image|picture|photo|video|file|clip|audio|text)\b(?!\s+(?:of|on|in)\b)",
    re.IGNORECASE,
)
_NOT_REMOVED = _words(
    "background", "noise", "blur", "shadows?", "red[- ]eye", "duplicates?", "compression", "colou?rs?", "glare",
    "haze", "grain", "virus(?:es)?", "seconds?", "minutes?", "frames?", "silence", "sound", "audio",
)  # fmt: skip
_QUOTE = '"..."'
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_JOIN = re.compile(
    # Only from the start of a run of spaces, in which it would else take cubic time.
    r"(?<!\s)(?:\s*[,;])?\s+(?:and|then|plus|before)\s+(?:then |also |please |afterwards |finally )*|,\s+",
    re.IGNORECASE,
)
_LONGEST = 500
"""Characters of a part that are read: some expressions take quadratic time."""


def _begun(text: str) -> str:
    """A text without its address and first adverbs."""
    return _STARTS.sub("", _ADDRESS.sub("", _STARTS.sub("", text)))


def parts_of(sentence: str) -> Iterator[str]:
    """The clauses of a sentence that have a verb of their own, in order."""
    start = 0
    for join in _JOIN.finditer(sentence):
        before, after = sentence[start : join.start()], sentence[join.end() : join.end() + _LONGEST]
        if sentence.count('"', 0, join.start()) % 2 or not _begins_clause(after):
            continue
        if _SPEAKS_BACK.search(after) and is_remark(before):
            continue
        if len(_WORD.findall(before)) < 2 or _heads_nothing(before):
            continue
        yield before.strip()
        start = join.end()
    yield sentence[start:].strip()


def _begins_clause(text: str) -> bool:
    """Whether a text begins with a verb and its object."""
    text = _STARTS.sub("", text)
    words = _WORD.findall(text)
    if len(words) < 2 or text.startswith('"') or words[0].lower() in _DETERMINERS | _PREPOSITIONS:
        return bool(re.match(r"(?:i|we) (?:want|need|would)\b|tell me\b|can you\b|could you\b", text, re.IGNORECASE))
    known = any(pattern.match(text) for pattern, _ in _VERBS) or _LIGHT.match(text) is not None
    follows = words[1].lower()
    has_object = follows in _DETERMINERS or follows in {"me", "us", "how", "what", "whether", "if", "which", "where"}
    if follows in {"the", "it", "them", "me", "us", "my"}:
        return True
    has_object = has_object or re.match(r"\w+\s+(?:out |up |down |only )?(?:the\b|\S+\.\w{2,4}\b|\")", text) is not None
    question = re.match(r"(?:how many|how much|what|where|who|which|is|are|does|do)\b", text, re.IGNORECASE)
    return question is not None or (has_object and (known or may_be_verb(words[0].lower())))


def _heads_nothing(text: str) -> bool:
    """Whether a text is only the beginning of a clause: a phrase with a preposition, or an address."""
    text = _begun(text[:_LONGEST])
    first = next(iter(_WORD.findall(text)), "").lower()
    return (
        not text
        or _LOOKS.match(text) is not None
        or (first in _PREPOSITIONS and not any(p.search(text) for p, _ in _VERBS))
    )


def demand_of(said: str, *, kinds: Collection[ResourceType], tools: Sequence[Tool], quotes: bool = False) -> Demand:
    """What a part demands, and by which of the offered tools.

    Args:
        said: the part, with "the image" for the name of a file, and without its quotations.
        kinds: types of its resources.
        tools: the offered tools.
        quotes: whether it has a quotation, or the text of an earlier one.
    """
    said = said[:_LONGEST]
    if is_remark(said):
        return Demand()
    away = _ELSEWHERE.search(said)
    if away is not None:
        return Demand(lacks=f'no tool does this part: "{away[0]}"')
    doers, what = _doers(said, kinds=set(kinds), quotes=quotes)
    if not doers:
        return Demand(lacks=what) if what else Demand()
    given = {*kinds, _TEXT}
    fitting = _fitting(doers, kinds=set(kinds))
    if not fitting:
        names = ", ".join(sorted(kinds)) or "no file"
        return Demand(lacks=f"{_named(doers)} does not work on what is given: {names}")
    offered = [tool for tool in tools if tool.name in fitting]
    if not offered:
        return Demand(lacks=f"the tool for it is missing here: {_named(fitting)}")
    served = [tool for tool in offered if _can_start(tool, given=given, tools=tools)]
    if not served:
        needed = sorted(
            {str(kind) for tool in offered[:1] for kind in tool.input_types} - {str(kind) for kind in given}
        )
        return Demand(
            lacks=f"{offered[0].name} needs {' and '.join(needed) or 'a file'}, which the request does not give"
        )
    return Demand(tools=frozenset(tool.name for tool in served))


def _named(names: Collection[str]) -> str:
    return " or ".join(list(names)[:2])


def is_remark(said: str) -> bool:
    """Whether a part wants nothing: a statement, thanks, or a rule for the rest."""
    text = _begun(said[:_LONGEST])
    if not _WORD.search(text.replace(_QUOTE, "")) or _REMARK.match(text):
        return True
    if _QUESTION.match(text) or _POLITE.match(text) or _WISHES.match(text) or _WONDERS.match(text):
        return _LATE_SUBJECT.match(text) is not None and "?" not in text
    first = _WORD.findall(text)[0].lower()
    asked = _PLEASE.search(text)
    if asked is not None and first in _SUBJECTS:
        return is_remark(text[asked.end() :])
    if first in _SUBJECTS or _LATE_SUBJECT.match(text):
        return True
    if first in _DETERMINERS:
        # A noun phrase ("The edge map of a.png, please.") demands its noun; a sentence with a verb states something.
        return (
            re.search(
                r"\b(?:is|are|was|were|has|have|had|shows?|will|can|cannot|does|do|did|failed|sits?|stands?|needs?"
                r"|lies|"
                r"asked|wanted|wants|opened|bought|took|sent|made|may|might|must|should|seems?|looks?|became|hangs?"
                r"|flies|moves?|walks?|knows?|get|be|gets|opted)\b",
                text,
            )
            is not None
        )
    return False


def _doers(said: str, *, kinds: set[ResourceType], quotes: bool) -> tuple[tuple[str, ...], str]:
    """The tools that do what a part says; or none, and why."""
    text = _begun(said)
    wonders = _WONDERS.match(text)
    if wonders is not None:
        asked = _CLAUSE_QUESTION.search(text)
        assert asked is not None
        return _answering(text[asked.start() :], kinds=kinds)
    first = next(iter(_WORD.findall(text)), "").lower()
    if first in _SUBJECTS and (asked := _PLEASE.search(text)) is not None:
        text = text[asked.end() :]
    is_polite = _POLITE.match(text) is not None
    text = _STARTS.sub("", _POLITE.sub("", text, count=1)) if is_polite else text
    wish = _WISHES.match(text)
    text = text[wish.end() :] if wish else text
    if _ALOUD.search(text) and re.search(r"\b(?:read|say|speak|pronounce)", text, re.IGNORECASE):
        return ("text_to_speech",), ""
    if re.search(r"\bread (?:it |this |that |the \w+ )?out\b", text, re.IGNORECASE) and kinds <= {_TEXT}:
        return ("text_to_speech",), ""
    annotations = text_tools.annotations(said)
    if _QUESTION.match(text) and not is_polite and not (annotations and quotes):
        return _answering(text, kinds=kinds)
    if annotations and (quotes or kinds & {_IMAGE, _VIDEO, _AUDIO, _TEXT}):
        is_source = not kinds or quotes or text_tools.source(said=said, annotation=annotations[0], kinds=kinds)
        if is_source:
            return annotations, ""
    if _IMAGE in kinds and text_tools.wants_reading(said):
        return (text_tools.READER,), ""
    if quotes and re.search(r"\b(?:ask|answer|question|reply|respond)\b", text, re.IGNORECASE):
        return ((*_ASKED, "video_classification") if kinds & {_IMAGE, _VIDEO} else _WRITERS), ""
    if _LOOKS.match(text) and (joined := re.search(r",? and (?:then )?(?=\w+ )", text)) is not None:
        text = text[joined.end() :]
    head = _head(text)
    done = _DONE.search(text) if wish else None
    if done is not None:
        return _of_verb(_OF_PARTICIPLES[done[1].lower()], verb=text, whole=said, kinds=kinds, quotes=quotes)
    if wish or (head and head[0].lower() in _DETERMINERS):
        return _noun(text, whole=said, kinds=kinds, quotes=quotes)
    verb = " ".join(head)
    if _POINTS.search(text) and re.search(r"\b(?:segment|mask|cut)", text, re.IGNORECASE):
        return ("image_segmentation_by_points",), ""
    if _tells(verb) and _CLAUSE_QUESTION.search(verb.partition(" ")[2]):
        asked = _CLAUSE_QUESTION.search(verb.partition(" ")[2])
        assert asked is not None
        return _answering(verb.partition(" ")[2][asked.start() :], kinds=kinds)
    if kinds and (_CHECKS.match(verb) or re.match(r"(?:verify|confirm|check|make sure|ensure|see) that\b", verb)):
        return _answering(verb, kinds=kinds)
    for pattern, doers in _VERBS:
        match = pattern.match(verb)
        if match is not None and doers:
            return _of_verb(doers, verb=verb, whole=said, kinds=kinds, quotes=quotes)
    if _LIGHT.match(verb) or _LOOKS.match(verb):
        return _noun(_LIGHT.sub("", verb, count=1), whole=said, kinds=kinds, quotes=quotes)
    if not head:
        return (), ""
    if means := _by_means(text):
        return _doers(means, kinds=kinds, quotes=quotes)
    if _noun(verb, whole=said, kinds=kinds, quotes=quotes)[0] and not may_be_verb(head[0].lower()):
        return _noun(verb, whole=said, kinds=kinds, quotes=quotes)
    return (), f'there is no tool to "{head[0].lower()}" anything'


def _by_means(text: str) -> str:
    """The order that a part names as its means: "Clean it up by removing the cable" is "remove the cable"."""
    means = re.search(r"\bby (\w+)ing\b(.*)", text, re.IGNORECASE)
    if means is None:
        return ""
    for base in (means[1], f"{means[1]}e", means[1][:-1]):
        order = f"{base}{means[2]}"
        if any(pattern.match(order) for pattern, doers in _VERBS if doers):
            return order
    return ""


def _tells(verb: str) -> bool:
    return (
        re.match(
            r"(?:tell|say|check|see|know|find out|work out|figure out|determine|explain|show|ask|decide|state"
            r"|report|ensure|make sure|confirm"
            r"|look|"
            r"give|describe|find|answer|verify|let|judge|guess|test)\b",
            verb,
            re.IGNORECASE,
        )
        is not None
    )


def _head(text: str) -> list[str]:
    """The words from the verb on: after a phrase with a preposition, as in "From a.png, extract the line map."."""
    words = text.replace(_QUOTE, " ").split()
    first = words[0].lower().strip(",.:;") if words else ""
    if first not in _PREPOSITIONS:
        return [word.strip(".:;!?") for word in words]
    after = text.partition(", ")[2] or text
    rest = _STARTS.sub("", after).split()
    if rest and rest[0].lower() not in _PREPOSITIONS:
        return [word.strip(".:;!?") for word in rest]
    places = [match.start() for pattern in (_LIGHT, *(own for own, _ in _VERBS)) if (match := pattern.search(text))]
    return text[min(places) :].split() if places else []


def _answering(text: str, *, kinds: set[ResourceType]) -> tuple[tuple[str, ...], str]:
    """The tools that answer a question."""
    media = kinds & {_IMAGE, _VIDEO, _AUDIO}
    if not media:
        if _MEDIA_WORDS.search(text):
            return (), "the request gives no file for it"
        if _WEATHER.search(text):
            return ("get_weather",), ""
        return (("get_time",), "") if _TIME.search(text) else (_WRITERS[::-1], "")
    if _IMAGE in kinds:
        unseen = _NOT_SEEN.search(text)
        if unseen is not None:
            return (), f'no tool can tell from a picture what is asked: "{unseen[0]}"'
        if re.match(r"how (?:many|much)\b", text, re.IGNORECASE):
            return (*_COUNTS, *_ASKED), ""
        if re.match(r"where\b", text, re.IGNORECASE):
            return (*_ASKED, *_BOXES), ""
        reading = text_tools.wants_reading(text)
        return (text_tools.READER, *_ASKED) if reading else (*_ASKED, "image_classification", "select_category",
                                                             "image_captioning", *_BOXES), ""  # fmt: skip
    if _VIDEO in kinds:
        unseen = _NOT_OF_CLIPS.search(text) or _NOT_SEEN.search(text)
        if unseen is not None:
            return (), f'no tool answers this about a video: "{unseen[0]}"'
        return ("video_classification", "select_category", "video_captioning"), ""
    return ("speech_to_text", "audio_classification"), ""


def _of_verb(
    doers: tuple[str, ...], *, verb: str, whole: str, kinds: set[ResourceType], quotes: bool
) -> tuple[tuple[str, ...], str]:
    """The tools of a verb, where its object makes another one of it."""
    if "image_inpainting" in doers:
        if _WHOLE_FILE.match(verb):
            return (), "no tool deletes files"
        kept = _NOT_REMOVED.search(verb)
        if kept is not None:
            return (), f'no tool removes this: "{kept[0]}"'
    if "image_cropping" in doers and re.search(r"\b(?:outline|contour|mask|silhouette|shape)\b|\bout\b", whole):
        is_boxed = re.search(r"\bbox\b|\brectang", whole)
        return (("image_cropping",) if is_boxed else ("mask_image",)), ""
    if "mask_image" in doers and re.search(r"\bbox\b|\brectang|\bcropp?", whole, re.IGNORECASE):
        return ("image_cropping",), ""
    if "segment_anything" in doers and re.match(
        r"\w+\s+(?:out\s+)?(?:the|a|an|this|that|its)\b(?! (?:\w+ )?image\b)", verb
    ):
        return tuple(name for name in doers if name != "segment_anything"), ""
    if doers == _BOXES and re.search(r"\b(?:mask|outline|segment)s?\b", verb, re.IGNORECASE):
        return _MASKS, ""
    if doers == _BOXES and re.match(r"(?:find|look for|search)\b", verb, re.IGNORECASE):
        rest = _noun(re.sub(r"^\w+( for)?", "", verb, count=1), whole=whole, kinds=kinds, quotes=quotes)[0]
        known = [own for own in rest if own not in ("text_to_image", "image_to_video", "text_to_video")]
        return (tuple(known) or _BOXES), ""
    if doers == _CLASSES:
        return ((*_CLASSES, "image_captioning", "video_captioning", *_ASKED) if kinds else _CLASSES), ""
    if doers[0] in _WRITERS and kinds & {_IMAGE, _VIDEO}:
        return _noun(verb, whole=whole, kinds=kinds, quotes=quotes)
    if doers == _WRITERS and re.match(r"(?:write|compose)\b", verb, re.IGNORECASE):
        named = _noun(re.sub(r"^\w+", "", verb, count=1), whole=whole, kinds=kinds, quotes=quotes)[0]
        return (named if named == ("text_to_music",) else _WRITERS), ""
    if doers == ("summarization",) and kinds & {_IMAGE, _VIDEO} and not quotes:
        return _CAPTIONS, ""
    if doers == _EDITORS:
        return (_EDITORS if _IMAGE in kinds else ("text_image_editing",)), ""
    if "highlight_object_on_image" in doers and re.search(r"\bdraw\b", verb, re.IGNORECASE) and not kinds:
        return ("text_to_image",), ""
    if doers[0] == text_tools.READER:
        return ((text_tools.READER,) if _AUDIO not in kinds else ("speech_to_text",)), ""
    return doers, ""


def _noun(text: str, *, whole: str, kinds: set[ResourceType], quotes: bool) -> tuple[tuple[str, ...], str]:
    """The tools that make the result which a noun phrase names."""
    changed = _INTO.search(whole)
    target = changed[1] if changed is not None and _result(changed[1], whole=whole, kinds=kinds) else text
    named = _result(target, whole=whole, kinds=kinds)
    if named:
        if quotes and text_tools.annotations(whole):
            return text_tools.annotations(whole), ""
        return named, ""
    if changed is not None and _IMAGE in kinds and re.search(r"\b(?:make|turn|change)\b", whole, re.IGNORECASE):
        noun = re.match(r"(?:an? |the )?([\w-]+(?: [\w-]+)?)", changed[1])
        styles = re.search(r"\b(?:style|red|blue|green|yellow|black|white|pink|purple|orange|grey|gray|brown|gold|"
                           r"silver|night|day|winter|summer|autumn|spring|cartoon|oil)\b", whole,
                           re.IGNORECASE)  # fmt: skip
        if styles is not None:
            return _EDITORS, ""
        return (), f'no tool makes this: "{noun[1] if noun else changed[1]}"'
    if _IMAGE in kinds and _CHANGED.search(whole):
        size = _SIZES.search(whole)
        return ((), f'no tool changes this: "{size[0]}"') if size is not None else (_EDITORS, "")
    if _MAP_WORDS.search(whole) and _IMAGE in kinds and _ALONG_WORDS.search(whole) and _DRAWS.search(whole):
        return _drawn(whole, kinds=kinds), ""
    if _DRAWS.search(whole) and not kinds - {_TEXT}:
        draws = re.search(
            r"\b(?:draw|paint|illustrate|depict|imagine|picture|visuali[sz]e|sketch)\b", whole, re.IGNORECASE
        )
        if draws is not None and not re.match(r"\W*(?:my|our|his|her|their)\b", text):
            return ("text_to_image",), ""
    if (
        kinds & {_IMAGE}
        and re.search(r"\b(?:with|without)\b", text)
        and re.match(r"\s*(?:me )?the (?:image|picture)", text)
    ):
        return ("image_inpainting", *_EDITORS), ""
    wanted = re.sub(r"^\W*(?:(?:me|us|for me|a|an|the|its|some|just|only)\b\s*)+", "", text).strip(" .,:;!?")
    wanted = _NP_ENDS.split(wanted)[0].strip() or wanted
    return (), (f'no tool makes this: "{wanted}"' if wanted else "")


def _result(text: str, *, whole: str, kinds: set[ResourceType]) -> tuple[str, ...]:
    """The tools of the first result that a noun phrase names."""
    phrase = re.sub(r"^\W*(?:(?:me|us|for me|out|to have|to see|to know|back)\b\s*)+", "", text)
    end = _NP_ENDS.search(phrase)
    first = phrase[: end.start()] if end else phrase
    if re.fullmatch(r"\W*(?:the|this|that|my)\s+(?:image|picture|photo|video|clip)\W*", first) and end is not None:
        if end[0].lower() == "without":
            return ("image_inpainting",)
        rest = phrase[end.end() :]
        return _result(rest, whole=whole, kinds=kinds) if end[0].lower() in ("so", "along") else ()
    if re.search(r"\bpart\b", first) and kinds & {_IMAGE}:
        return ("mask_image",) if re.search(r"\b(?:mask|outline)\b", whole) else ("image_cropping",)
    for pattern, tools in _NOUNS:
        found = pattern.search(first)
        if found is None:
            continue
        if tools == ("text_to_image",):
            return _drawn(whole, kinds=kinds)
        if tools[0] == "image_to_video":
            return ("image_audio_to_video",) if _AUDIO in kinds else (
                ("image_to_video",) if _IMAGE in kinds else ("text_to_video",))  # fmt: skip
        if tools[0].startswith("image_to_") and re.search(
            r"\b(?:generate|paint|draw|create)\b.*\b(?:image|picture)\b", whole
        ):
            return _drawn(whole, kinds=kinds)
        if tools == _CAPTIONS and not kinds:
            return _WRITERS
        return tools
    return ()


def _drawn(whole: str, *, kinds: set[ResourceType]) -> tuple[str, ...]:
    """The tools that draw a new picture."""
    mapped = [name for name in _ALONG if ResourceType(name) in kinds]
    if not mapped and _IMAGE in kinds and (match := _MAP_WORDS.search(whole)) is not None:
        word = match[0].lower()
        mapped = [name for name, words in _ALONG.items() if any(re.match(own, word) for own in words)][-1:]
        mapped = ["hed"] if word.startswith("soft") else mapped
    if mapped:
        return tuple(f"{name}_text_to_image" for name in mapped)
    if re.search(r"\bwithout\b", whole) and _IMAGE in kinds:
        return ("image_inpainting",)
    is_new = re.search(r"\bnew (?:\w+ )?(?:image|picture|photo|drawing|painting|scene)", whole, re.IGNORECASE)
    if is_new and not _SIMILAR.search(whole):
        return ("text_to_image",)
    similar = _SIMILAR.search(whole)
    if _IMAGE in kinds:
        return ("image_to_image",) if similar else ("text_image_editing",) if _CHANGED.search(whole) else ()
    return ("text_to_image",)


def _fitting(doers: Sequence[str], *, kinds: set[ResourceType]) -> tuple[str, ...]:
    """The tools that work on the kinds of files that a part has."""
    media = kinds & {_IMAGE, _VIDEO, _AUDIO}
    if media == {_VIDEO}:
        about = [name for name in doers if name.startswith("video_") or name in (
            "dub_video", "select_category", *_ANNOTATORS)]  # fmt: skip
        return tuple(about)
    if media == {_AUDIO}:
        return tuple(name for name in doers if name in ("speech_to_text", "audio_classification", "select_category",
                                                        *_ANNOTATORS))  # fmt: skip
    return tuple(name for name in doers if not (name.startswith("video_") and _VIDEO not in kinds))


def _can_start(tool: Tool, *, given: set[ResourceType], tools: Sequence[Tool]) -> bool:
    """Whether a tool's inputs are given, or can be made of what is given without making up a picture, clip or sound."""
    available = set(given)
    while True:
        new = {
            kind
            for other in tools
            if not other.domain.endswith("generation") and available.issuperset(other.input_types)
            for kind in other.output_types
        }
        if new <= available:
            return available.issuperset(tool.input_types)
        available |= new
