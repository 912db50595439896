"""What no tool does, in German: as something to do and as an answer, by the domain task that it resembles."""

from collections.abc import Mapping, Sequence

from evaluator.openagi.grammar import Base
from evaluator.openagi.season.german_words import Verb

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
