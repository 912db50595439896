"""If nothing was refused and the loader trusted everything: the sandbox keeps what is ours, without any one layer too.

A careless loader runs in the sandbox: the library's own classes with `trust_remote_code`, pickles, and every program
that comes with the checkpoint. What it can read of a file with a secret is what a hole in the admission would be worth.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from gpu_jobs.model_server.isolation.confinement import Layer
from tests.gpu_jobs.model_server.hostile import hostile
from tests.hostile.checkpoints import CASES, Target, honest

pytestmark = pytest.mark.full

OWN = frozenset({Layer.LANDLOCK, Layer.SECCOMP, Layer.LIMITS})
OUTER = Layer.BUBBLEWRAP if shutil.which("bwrap") else Layer.NAMESPACES
FULL = OWN | {OUTER} | ({Layer.OWN_USER} if os.geteuid() == 0 else set())
READING = [case for case in CASES if case.reads]
ALWAYS_TOLD = {"a configuration class of its own", "a pickle beside the weights",
               "a pickle under the name of safetensors", "the vocabulary of a BERT tokenizer"}  # fmt: skip
"""Routes by which the careless loader tells the secret where nothing keeps it from it."""

LOADER = """
import pickle, tempfile, traceback
tempfile.tempdir = os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.getcwd()
from pathlib import Path
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, BertTokenizer, GenerationConfig, GPT2Tokenizer

def careless(folder):
    said = []
    def attempt(what):
        try:
            said.append(repr(what()))
        except BaseException as error:
            said.append("".join(traceback.format_exception(error)))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    named = [value for value in settings.values() if isinstance(value, str) and value.startswith("/")]
    attempt(lambda: AutoConfig.from_pretrained(folder, trust_remote_code=True))
    attempt(lambda: GenerationConfig.from_pretrained(folder))
    def tokenizer():
        found = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
        attempt(lambda: found.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False))
        return found.get_vocab(), found.init_kwargs
    attempt(tokenizer)
    for path in named:
        attempt(lambda: BertTokenizer(vocab_file=path, vocab=path).get_vocab())
        attempt(lambda: open(path).read())
    attempt(lambda: AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True))
    for path in folder.rglob("*"):
        if path.suffix == ".py":
            attempt(lambda: exec(path.read_text(), {}))
        elif path.is_file() and path.suffix not in {".jinja", ".md"}:
            attempt(lambda: pickle.loads(path.read_bytes()))
    return " ".join(said)
"""


@pytest.fixture(scope="module")
def bait() -> Iterator[Target]:
    """A file that everybody on this machine may read."""
    with tempfile.TemporaryDirectory(prefix="planarena-bait-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "bait.txt").write_text("bait0123456789abcdef\n")
        (folder / "bait.txt").chmod(0o644)
        yield Target(path=str(folder / "bait.txt"), bait="bait0123456789abcdef", secrets=name, port="9")


@pytest.fixture(scope="module")
def corpus(bait: Target, tmp_path_factory) -> Path:
    """All checkpoints that a careless loader would read files for, one folder each."""
    folder = tmp_path_factory.mktemp("corpus")
    for number, case in enumerate(READING):
        for name, data in case.build(honest(), bait).items():
            path = folder / str(number) / Path(name).name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
    return folder


def told(layers: frozenset[Layer], *, corpus: Path, bait: Target) -> set[str]:
    """The names of the cases by which the loader came to the secret."""
    inside = "/model" if any(layer.isolates for layer in layers) else str(corpus)
    # Turned around, so that the code itself does not hold it.
    code = (
        f"{LOADER}\nresult = [number for number in range({len(READING)}) "
        f"if {bait.bait[::-1]!r}[::-1] in careless(Path({inside!r}) / str(number))]"
    )
    with hostile(layers, folder=corpus, memory_bytes=4 << 30) as taken_over:
        how, what = taken_over.results({"load": code}, seconds=200)["load"]
    assert how == "done", what
    return {READING[int(number)].name for number in what.strip("[]").split(",") if number.strip()}


# Without a file system of its own, another user would not reach the interpreter where that is root's.
ONE_OFF = {"none": FULL, OUTER.value: OWN, **{layer.value: FULL - {layer} for layer in sorted(FULL - {OUTER})}}
UNSANDBOXED = "everything"


@pytest.fixture(scope="module")
def loaders(request: pytest.FixtureRequest, corpus: Path, bait: Target) -> Iterator[Mapping[str, Future[set[str]]]]:
    """What the loader tells without each of the layers that a chosen test names, two at a time."""
    own = [item for item in request.session.items if item.path == request.path]
    chosen = {item.callspec.params["off"] for item in own if isinstance(item, pytest.Function)}
    sets = ONE_OFF | {UNSANDBOXED: frozenset()}
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as two:
        patch.setenv("PLANARENA_HOSTILE_TEST", bait.bait)
        yield {off: two.submit(told, sets[off], corpus=corpus, bait=bait) for off in sets if off in chosen}


@pytest.mark.parametrize("off", ONE_OFF)
def test_a_careless_loader_tells_no_secret_without_any_one_layer(off: str, loaders: Mapping[str, Future[set[str]]]):
    assert loaders[off].result() == set()


@pytest.mark.parametrize("off", [UNSANDBOXED])
def test_the_same_loader_tells_the_secret_without_a_sandbox(off: str, loaders: Mapping[str, Future[set[str]]]):
    assert loaders[off].result() >= ALWAYS_TOLD
