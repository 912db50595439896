"""InterCode's released files, pinned but not included: the tasks and the dump of their databases.

Both are files of github.com/princeton-nlp/intercode, folder `data/sql/spider`: Spider's development set and its
databases, converted to MySQL. InterCode is under the MIT licence, Spider under CC BY-SA 4.0.
"""

from evaluator.network.released_files import PublicFile, Release

TASKS = "ic_spider_dev.json"
DUMP = "ic_spider_dbs.sql"

_COMMIT = "c3e46d8"
_BASE = f"https://raw.githubusercontent.com/princeton-nlp/intercode/{_COMMIT}/data/sql/spider"

RELEASE = Release(
    name="intercode-sql",
    origin="https://github.com/princeton-nlp/intercode",
    commit=_COMMIT,
    files=(
        PublicFile(
            name=TASKS, base=_BASE, bytes=1_001_475,
            sha256="68c9ecb0692c80770f46c724cc073ea76be4f301a294caa532c050546948128e",
        ),
        PublicFile(
            name=DUMP, base=_BASE, bytes=412_090,
            sha256="61f6e8000cb5bb696f123fa55e111acdcd8da7eca64f452a36fd1a6e5fb1781a",
        ),
    ),
)  # fmt: skip
