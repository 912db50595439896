"""German patterns and vocabulary of generated requests.

Slots of patterns, besides those of `english_words`:

    {a}          the inputs with their defects, in the accusative; `a:nom` in the nominative
    {do}         what to do, as an imperative; in the infinitive `inf`, with "zu" `zu`
    {get}        the answer, a noun phrase whose nominative and accusative are equal

In verb phrases, {it} is the input in the accusative, {nom} in the nominative, {dat} in the dative, {of} in the
genitive, and {to} with "zu". {in} is the language (" auf Deutsch"), and {v} the place of an infinitive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.season.speaker import Pattern, Words

PATTERNS = tuple(
    Pattern(text=text)
    for text in (
        "Ich habe {a}. | Bitte {do:it}.",
        "Ich habe hier {a}. | Kannst du {inf:it}?",
        "Anbei findest du {a}. | Könntest du {inf:it}?",
        "Hier ist {a:nom}. | Könnten Sie {inf:it}?",
        "Mir liegt {a:nom} vor. | Ich möchte {inf:it}.",
        "Jemand hat mir {a} geschickt. | Würdest du {inf:it}?",
        "Ich brauche {get}, habe aber nur {a}.",
        "Angenommen, du bekommst {a} und sollst {inf:it}. Was würdest du tun?",
        "Ich habe gerade {a} hochgeladen. | Bitte {do:it}.",
        "Auf einer alten Festplatte habe ich {a} gefunden. | Ich bitte dich, {zu:it}.",
        "Vor mir liegt {a:nom}. | Was ich brauche: {get}.",
        "Wir haben heute Morgen {a} bekommen. | Können Sie {inf:it}?",
        "Bitte {do:this}.",
        "{do:this}.",
        "Kannst du {inf:this}?",
        "Könnten Sie bitte {inf:this}?",
        "Ich möchte {inf:this}. Welche Schritte sind dafür nötig?",
        "Wie würdest du vorgehen, um {zu:this}?",
        "Deine Aufgabe ist es, {zu:this}.",
        "Ich bitte dich, {zu:this}.",
        "Welche Werkzeuge brauchst du, um {zu:this}?",
        "Für {this} hätte ich gern {get}.",
        "Lässt sich aus dem, was ich habe, {get} gewinnen? | Es handelt sich um {a}.",
        "Bitte {do:the}. {state}",
        "{state:the} Bitte {do:it}.",
        "Kannst du {inf:the}? {state}",
        "{state:the} Könntest du {inf:it}?",
        "Ich hätte gern {get}. Es geht um {the}. {state:the}",
        "{state:the} Trotzdem brauche ich {get}.",
        "Ich möchte {inf:the}. {state} Wie gehe ich am besten vor?",
    )
)

_L, _N, _B, _G = Degradation.LOW_RESOLUTION, Degradation.NOISE, Degradation.BLUR, Degradation.GRAYSCALE
WORDS = Words(
    terms={
        _L: ("niedrig aufgelöst", "gering aufgelöst"),
        _N: ("verrauscht",),
        _B: ("unscharf",),
        _G: ("schwarz-weiß",),
    },
    looks={
        _L: ("winzig", "pixelig", "sehr klein", "briefmarkengroß"),
        _N: ("körnig", "grobkörnig", "grieselig"),
        _B: ("verschwommen", "verwackelt"),
        _G: ("farblos", "monochrom", "schwarz-weiß"),
    },
    openings=("Hallo!", "Guten Tag!", "Guten Morgen!", "Guten Abend!", "Servus!"),
    closings=("Vielen Dank!", "Danke im Voraus!", "Es eilt nicht.", "Besten Dank!", "Ich brauche es bis morgen."),
    details={
        "image": (
            "Meine Tante hat {it} letzten Sommer in Lissabon aufgenommen.",
            "Auf dem Markt war es furchtbar laut.",
            "{nom} soll in unserer Küche hängen.",
            "{nom} lag zwanzig Jahre lang in einer Schublade.",
            "Mein Großvater trug {it} immer bei sich.",
            "Ein englischer Freund hat {it} auf einer Messe gemacht.",
            "Die Kamera hat weniger gekostet als ein gutes Abendessen.",
            "Der Tag war kalt, aber schön.",
        ),
        "text": (
            "Eine Kollegin aus England hat {it} vor Jahren geschrieben.",
            "{nom} hing am Schwarzen Brett in unserem Büro.",
            "{nom} steckte in einem alten Buch.",
            "Ich habe {it} schon dreimal gelesen.",
            "{nom} wurde auf einer Schreibmaschine getippt.",
            "Das Bild dazu ist leider verloren gegangen.",
        ),
        "document": (
            "{nom} stammt aus dem Stadtarchiv.",
            "{nom} lag neben dem Kopierer.",
            "{nom} ist älter als ich.",
            "Von einer Kollegin aus England habe ich {it} bekommen.",
            "Niemand im Büro hatte Zeit, {it} zu lesen.",
        ),
    },
    intact=(
        "Restaurieren muss man {image} nicht: Die Qualität ist einwandfrei.",
        "{image:nom} ist in einwandfreiem Zustand, eine Reparatur ist nicht nötig.",
        "Man könnte {image} vorher nachschärfen, nötig ist das aber nicht.",
        "Die Farben stimmen, und scharf ist {image:nom} auch, also muss man nichts reparieren.",
        "Entrauschen muss man {image} nicht, denn da rauscht nichts.",
        "Vergrößern oder einfärben muss man {image} nicht.",
        "{image:nom} wurde schon restauriert, daran muss niemand mehr etwas ändern.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun with what declines with it."""

    word: str
    gender: str
    """`m`, `f` or `n`."""
    plural: str


NOUNS: Mapping[str, Sequence[Noun]] = {
    "image": (Noun("Foto", "n", "Fotos"), Noun("Bild", "n", "Bilder"), Noun("Aufnahme", "f", "Aufnahmen")),
    "text": (Noun("Text", "m", "Texte"), Noun("Absatz", "m", "Absätze"), Noun("Textabschnitt", "m", "Textabschnitte")),
    "document": (Noun("Dokument", "n", "Dokumente"), Noun("Artikel", "m", "Artikel"), Noun("Bericht", "m", "Berichte")),
    "query": (Noun("Frage", "f", "Fragen"),),
}
FORMS: Mapping[str, Mapping[str, str]] = {
    "m": {"a": "einen", "a:nom": "ein", "the": "den", "the:nom": "der", "this": "diesen", "it": "ihn", "it:nom": "er",
          "in": "im", "of": "des", "adjective a": "en", "adjective a:nom": "er", "adjective this": "en"},
    "f": {"a": "eine", "a:nom": "eine", "the": "die", "the:nom": "die", "this": "diese", "it": "sie", "it:nom": "sie",
          "in": "in der", "of": "der", "adjective a": "e", "adjective a:nom": "e", "adjective this": "e"},
    "n": {"a": "ein", "a:nom": "ein", "the": "das", "the:nom": "das", "this": "dieses", "it": "es", "it:nom": "es",
          "in": "im", "of": "des", "adjective a": "es", "adjective a:nom": "es", "adjective this": "e"},
}  # fmt: skip
"""Articles, pronouns and endings of adjectives by gender; accusative where nothing else is said."""
CLOZED = ("mit einem fehlenden Wort", "mit einer Lücke", "mit einem geschwärzten Wort")
CLOZED_STATES = ("{in_the} fehlt ein Wort.", "{in_the} ist ein Wort geschwärzt.", "{in_the} klafft eine Lücke.")
NOT_CLOZED = (
    "{in_the} fehlt kein Wort.",
    "{nom} ist vollständig; es fehlt kein Wort.",
    "{in_the} gibt es keine Lücken.",
)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb phrase: as an imperative, and with the place of an infinitive."""

    imperative: str
    final: str
    infinitive: str
    with_zu: str

    @property
    def has_clause(self) -> bool:
        """Whether it ends with a subordinate clause, so that nothing can follow."""
        return "," in self.final


VERBS: Mapping[Base, Sequence[Verb]] = {
    Base.RESTORATION: (
        Verb("stelle {it} wieder her", "{it} {v}", "wiederherstellen", "wiederherzustellen"),
        Verb("restauriere {it}", "{it} {v}", "restaurieren", "zu restaurieren"),
        Verb("bringe {it} in einen einwandfreien Zustand", "{it} in einen einwandfreien Zustand {v}", "bringen",
             "zu bringen"),
        Verb("behebe alle Mängel {of}", "alle Mängel {of} {v}", "beheben", "zu beheben"),
    ),
    Base.CAPTIONING: (
        Verb("beschreibe {it}{in} in einem Satz", "{it}{in} in einem Satz {v}", "beschreiben", "zu beschreiben"),
        Verb("sage{in} in einem Satz, was {nom} zeigt", "{in} in einem Satz {v}, was {nom} zeigt", "sagen", "zu sagen"),
        Verb("fasse{in} in einen kurzen Satz, was {nom} zeigt", "{in} in einen kurzen Satz {v}, was {nom} zeigt",
             "fassen", "zu fassen"),
    ),
    Base.CLASSIFICATION: (
        Verb("bestimme{in} die Klasse {of}", "{in} die Klasse {of} {v}", "bestimmen", "zu bestimmen"),
        Verb("nenne{in} das Hauptobjekt {of}", "{in} das Hauptobjekt {of} {v}", "nennen", "zu nennen"),
        Verb("gib{in} die Klasse an, zu der {nom} gehört", "{in} die Klasse {v}, zu der {nom} gehört", "angeben",
             "anzugeben"),
    ),
    Base.DETECTION: (
        Verb("zähle{in} alle Objekte auf, die {nom} zeigt", "{in} alle Objekte {v}, die {nom} zeigt", "aufzählen",
             "aufzuzählen"),
        Verb("liste{in} die Objekte {of} auf", "{in} die Objekte {of} {v}", "auflisten", "aufzulisten"),
        Verb("nenne{in} jedes Objekt, das {nom} enthält", "{in} jedes Objekt {v}, das {nom} enthält", "nennen",
             "zu nennen"),
    ),
    Base.TEXT_TO_IMAGE: (
        Verb("male, was {nom} beschreibt", "{v}, was {nom} beschreibt", "malen", "zu malen"),
        Verb("illustriere {it}", "{it} {v}", "illustrieren", "zu illustrieren"),
        Verb("mache aus dem, was {nom} beschreibt, ein Bild", "aus dem, was {nom} beschreibt, ein Bild {v}", "machen",
             "zu machen"),
    ),
    Base.SUMMARIZATION: (
        Verb("fasse {it}{in} zusammen", "{it}{in} {v}", "zusammenfassen", "zusammenzufassen"),
        Verb("gib den Inhalt {of}{in} in einem Satz wieder", "den Inhalt {of}{in} in einem Satz {v}", "wiedergeben",
             "wiederzugeben"),
        Verb("sage{in} in einem Satz, worum es geht", "{in} in einem Satz {v}, worum es geht", "sagen", "zu sagen"),
    ),
    Base.TRANSLATION: (
        Verb("übersetze {it} ins Deutsche", "{it} ins Deutsche {v}", "übersetzen", "zu übersetzen"),
        Verb("übertrage {it} ins Deutsche", "{it} ins Deutsche {v}", "übertragen", "zu übertragen"),
    ),
    Base.SENTIMENT: (
        Verb("sage{in}, ob {nom} positiv oder negativ klingt", "{in} {v}, ob {nom} positiv oder negativ klingt",
             "sagen", "zu sagen"),
        Verb("beurteile{in}, ob die Stimmung {of} positiv oder negativ ist",
             "{in} {v}, ob die Stimmung {of} positiv oder negativ ist", "beurteilen", "zu beurteilen"),
        Verb("stufe {it}{in} als positiv oder negativ ein", "{it}{in} als positiv oder negativ {v}", "einstufen",
             "einzustufen"),
    ),
    Base.VQA: (
        Verb("beantworte{in} die Frage {to}", "{in} die Frage {to} {v}", "beantworten", "zu beantworten"),
        Verb("beantworte die Frage{in} anhand {of}", "die Frage{in} anhand {of} {v}", "beantworten", "zu beantworten"),
    ),
    Base.QA: (
        Verb("beantworte{in} die Frage zum Inhalt {of}", "{in} die Frage zum Inhalt {of} {v}", "beantworten",
             "zu beantworten"),
        Verb("beantworte die Frage{in} mit Hilfe {of}", "die Frage{in} mit Hilfe {of} {v}", "beantworten",
             "zu beantworten"),
    ),
}  # fmt: skip
RESULTS: Mapping[Base, Sequence[str]] = {
    Base.RESTORATION: ("eine einwandfreie Fassung", "eine restaurierte Version"),
    Base.CAPTIONING: ("eine Beschreibung in einem Satz{in}", "eine kurze Bildunterschrift{in}"),
    Base.CLASSIFICATION: ("die Klasse des Hauptobjekts{in}", "die Bezeichnung des Hauptobjekts{in}"),
    Base.DETECTION: ("eine Liste der abgebildeten Objekte{in}", "die Namen aller Objekte{in}"),
    Base.TEXT_TO_IMAGE: ("ein passendes Bild", "eine Zeichnung dessen, was beschrieben wird"),
    Base.SUMMARIZATION: ("eine Zusammenfassung{in}", "eine Kurzfassung in einem Satz{in}"),
    Base.TRANSLATION: ("eine Übersetzung ins Deutsche", "eine deutsche Übersetzung"),
    Base.SENTIMENT: ("ein Urteil{in}, positiv oder negativ", "die Stimmung{in}, also positiv oder negativ"),
    Base.VQA: ("die Antwort auf die Frage{in}", "eine Antwort auf die Frage{in}"),
    Base.QA: ("die Antwort auf die Frage{in}", "eine Antwort auf die Frage{in}"),
}


IMPOSSIBLE: Mapping[Base, Sequence[tuple[Verb, str]]] = {
    Base.CAPTIONING: (
        (Verb("beschreibe {it} in einem Satz auf Französisch", "{it} in einem Satz auf Französisch {v}", "beschreiben",
              "zu beschreiben"), "eine Beschreibung auf Französisch"),
        (Verb("sage, wie laut es bei der Entstehung {of} war", "{v}, wie laut es bei der Entstehung {of} war", "sagen",
              "zu sagen"), "die Lautstärke bei der Entstehung in Dezibel"),
        (Verb("finde heraus, an welchem Tag {nom} entstanden ist", "{v}, an welchem Tag {nom} entstanden ist",
              "herausfinden", "herauszufinden"), "das Datum der Entstehung"),
        (Verb("finde heraus, von wem {nom} stammt", "{v}, von wem {nom} stammt", "herausfinden", "herauszufinden"),
         "den Namen der Person, von der das stammt"),
        (Verb("liste die Objekte {of} auf Spanisch auf", "die Objekte {of} auf Spanisch {v}", "auflisten",
              "aufzulisten"), "eine Liste der Objekte auf Spanisch"),
    ),
    Base.RESTORATION: (
        (Verb("drehe {it} um neunzig Grad", "{it} um neunzig Grad {v}", "drehen", "zu drehen"),
         "eine um neunzig Grad gedrehte Fassung"),
        (Verb("spiegele {it}", "{it} {v}", "spiegeln", "zu spiegeln"), "eine gespiegelte Fassung"),
        (Verb("stelle den Hintergrund {of} frei", "den Hintergrund {of} {v}", "freistellen", "freizustellen"),
         "eine Fassung ohne Hintergrund"),
        (Verb("mache aus {dat} ein kurzes Video", "aus {dat} ein kurzes Video {v}", "machen", "zu machen"),
         "ein kurzes Video davon"),
        (Verb("verpasse {dat} einen Holzrahmen", "{dat} einen Holzrahmen {v}", "verpassen", "zu verpassen"),
         "eine Fassung mit Holzrahmen"),
    ),
    Base.SUMMARIZATION: (
        (Verb("übersetze {it} ins Französische", "{it} ins Französische {v}", "übersetzen", "zu übersetzen"),
         "eine französische Übersetzung"),
        (Verb("übersetze {it} ins Polnische", "{it} ins Polnische {v}", "übersetzen", "zu übersetzen"),
         "eine polnische Übersetzung"),
        (Verb("finde heraus, wer {it} geschrieben hat", "{v}, wer {it} geschrieben hat", "herausfinden",
              "herauszufinden"), "die Namen aller Verfasser"),
        (Verb("lies {it} laut vor", "{it} laut {v}", "vorlesen", "vorzulesen"), "eine Tonaufnahme davon"),
        (Verb("prüfe im Internet, ob {nom} stimmt", "im Internet {v}, ob {nom} stimmt", "prüfen", "zu prüfen"),
         "eine Liste von Websites, die das bestätigen"),
    ),
}  # fmt: skip
