"""The words of stories and reviews: people, places, belongings, opinions.

Each noun of a story has its own adjective, and each person a trade. Each of these words can therefore be inferred from
its partner, and a text in which one is masked has a unique completion.
"""

from dataclasses import dataclass

from evaluator.miniature.grammar.german import (
    Adjective,
    Article,
    Bilingual,
    Case,
    Gender,
    Noun,
    noun_phrase,
    with_article,
)

M, F, N = Gender.MASCULINE, Gender.FEMININE, Gender.NEUTER


@dataclass(frozen=True, slots=True)
class Person:
    """A person. Names are the same in both languages; the trade occurs in English questions only."""

    name: str
    trade: str


@dataclass(frozen=True, slots=True)
class Belonging:
    """A noun with its adjective."""

    noun: Noun
    adjective: Adjective

    @property
    def name(self) -> Bilingual:
        """The name without an article, for example `sweet cake` and `süßer Kuchen`."""
        german = noun_phrase(noun=self.noun, case=Case.NOMINATIVE, adjective=self.adjective)
        return Bilingual(f"{self.adjective.english} {self.noun.english}", german)

    @property
    def recoverable(self) -> tuple[str, str]:
        """The English noun and adjective, each of which can be inferred from the other."""
        return self.noun.english, self.adjective.english

    @property
    def full_object(self) -> Bilingual:
        """The direct object, for example `a sweet cake` and `einen süßen Kuchen`."""
        german = noun_phrase(noun=self.noun, case=Case.ACCUSATIVE, article=Article.INDEFINITE, adjective=self.adjective)
        return Bilingual(with_article(self.name.english), german)

    @property
    def short_object(self) -> Bilingual:
        """The direct object without the adjective, for example `a cake` and `einen Kuchen`."""
        german = noun_phrase(noun=self.noun, case=Case.ACCUSATIVE, article=Article.INDEFINITE)
        return Bilingual(with_article(self.noun.english), german)

    @property
    def subject(self) -> Bilingual:
        """The subject, for example `the cake` and `der Kuchen`."""
        german = noun_phrase(noun=self.noun, case=Case.NOMINATIVE, article=Article.DEFINITE)
        return Bilingual(f"the {self.noun.english}", german)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an event."""

    thing: Belonging
    preposition: Bilingual

    @property
    def phrase(self) -> Bilingual:
        """The place with its preposition, for example `in the quiet library` and `in der stillen Bibliothek`."""
        german = noun_phrase(
            noun=self.thing.noun, case=Case.DATIVE, article=Article.DEFINITE, adjective=self.thing.adjective
        )
        contracted = german.removeprefix("dem ") if self.preposition.german in {"im", "am"} else german
        english = f"{self.preposition.english} the {self.thing.name.english}"
        return Bilingual(english, f"{self.preposition.german} {contracted}")


@dataclass(frozen=True, slots=True)
class Verb:
    """A transitive verb in the past, and the English infinitive for questions."""

    past: Bilingual
    english_infinitive: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """A noun with a good and a bad adjective, and the adverb for each."""

    noun: Noun
    good: Bilingual
    bad: Bilingual
    swapped: bool
    """Which adverb belongs to which adjective, so that neither adverb nor noun alone determines the sentiment."""

    def adverb(self, *, positive: bool) -> Bilingual:
        """`really` or `rather`."""
        return _ADVERBS[positive != self.swapped]


_ADVERBS = {True: Bilingual("really", "wirklich"), False: Bilingual("rather", "ziemlich")}

PEOPLE: tuple[Person, ...] = (
    Person("Anna", "baker"),
    Person("Ben", "gardener"),
    Person("Clara", "teacher"),
    Person("David", "painter"),
    Person("Emma", "doctor"),
    Person("Felix", "farmer"),
    Person("Greta", "singer"),
    Person("Hugo", "miller"),
    Person("Ida", "tailor"),
    Person("Jonas", "fisherman"),
    Person("Leo", "smith"),
    Person("Mia", "dentist"),
)


def _thing(english: str, german: str, gender: Gender, adjective: tuple[str, str], stem: str | None = None) -> Belonging:
    return Belonging(Noun(english, german, gender), Adjective(*adjective, stem=stem))


BELONGINGS: tuple[Belonging, ...] = (
    _thing("cake", "Kuchen", M, ("sweet", "süß")),
    _thing("knife", "Messer", N, ("sharp", "scharf")),
    _thing("coat", "Mantel", M, ("warm", "warm")),
    _thing("table", "Tisch", M, ("round", "rund")),
    _thing("chair", "Stuhl", M, ("wooden", "hölzern")),
    _thing("watch", "Uhr", F, ("golden", "golden")),
    _thing("book", "Buch", N, ("thick", "dick")),
    _thing("lamp", "Lampe", F, ("bright", "hell")),
    _thing("fish", "Fisch", M, ("fresh", "frisch")),
    _thing("bag", "Tasche", F, ("heavy", "schwer")),
    _thing("shirt", "Hemd", N, ("clean", "sauber")),
    _thing("bicycle", "Fahrrad", N, ("fast", "schnell")),
)

PLACES: tuple[Place, ...] = tuple(
    Place(_thing(english, german, gender, adjective, stem), Bilingual(*preposition))
    for english, german, gender, adjective, stem, preposition in (
        ("library", "Bibliothek", F, ("quiet", "still"), None, ("in", "in")),
        ("market", "Markt", M, ("busy", "belebt"), None, ("at", "auf")),
        ("mill", "Mühle", F, ("old", "alt"), None, ("in", "in")),
        ("park", "Park", M, ("shady", "schattig"), None, ("in", "im")),
        ("station", "Bahnhof", M, ("small", "klein"), None, ("at", "am")),
        ("kitchen", "Küche", F, ("tiny", "winzig"), None, ("in", "in")),
        ("bridge", "Brücke", F, ("long", "lang"), None, ("on", "auf")),
        ("forest", "Wald", M, ("dark", "dunkel"), "dunkl", ("in", "im")),
        ("school", "Schule", F, ("large", "groß"), None, ("in", "in")),
        ("museum", "Museum", N, ("new", "neu"), None, ("in", "im")),
        ("theatre", "Theater", N, ("famous", "berühmt"), None, ("in", "im")),
        ("castle", "Schloss", N, ("white", "weiß"), None, ("in", "im")),
    )
)

VERBS: tuple[Verb, ...] = (
    Verb(Bilingual("bought", "kaufte"), "buy"),
    Verb(Bilingual("found", "fand"), "find"),
    Verb(Bilingual("sold", "verkaufte"), "sell"),
    Verb(Bilingual("lost", "verlor"), "lose"),
)

DAYS: tuple[Bilingual, ...] = (
    Bilingual("Monday", "Montag"),
    Bilingual("Tuesday", "Dienstag"),
    Bilingual("Wednesday", "Mittwoch"),
    Bilingual("Thursday", "Donnerstag"),
    Bilingual("Friday", "Freitag"),
    Bilingual("Saturday", "Samstag"),
    Bilingual("Sunday", "Sonntag"),
)

WEATHER: tuple[Bilingual, ...] = (
    Bilingual("cold", "kalt"),
    Bilingual("mild", "mild"),
    Bilingual("windy", "windig"),
    Bilingual("rainy", "regnerisch"),
    Bilingual("sunny", "sonnig"),
)

OPINIONS: tuple[Opinion, ...] = tuple(
    Opinion(Noun(english, german, gender), Bilingual(*good), Bilingual(*bad), swapped=index % 2 == 1)
    for index, (english, german, gender, good, bad) in enumerate(
        (
            ("soup", "Suppe", F, ("tasty", "lecker"), ("salty", "salzig")),
            ("film", "Film", M, ("exciting", "spannend"), ("boring", "langweilig")),
            ("bed", "Bett", N, ("soft", "weich"), ("hard", "hart")),
            ("room", "Zimmer", N, ("spacious", "geräumig"), ("dirty", "schmutzig")),
            ("waiter", "Kellner", M, ("friendly", "freundlich"), ("rude", "unhöflich")),
            ("music", "Musik", F, ("lovely", "schön"), ("loud", "laut")),
            ("garden", "Garten", M, ("beautiful", "herrlich"), ("ugly", "hässlich")),
            ("coffee", "Kaffee", M, ("excellent", "ausgezeichnet"), ("bitter", "bitter")),
        )
    )
)
