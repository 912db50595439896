"""A site whose boards are signed, in memory: what `planarena verify` reads, and ways to tamper with it."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

from evaluator.client.verify.documents import Row
from evaluator.client.verify.fetching import MissingError
from evaluator.client.verify.ranks import figures_of
from evaluator.core import canonical_json
from evaluator.core.records import ArtefactReference, Outcome, PlannerCall, Reason, ResultRecord, SampleResult
from evaluator.core.signatures.documents import KeyEntry, digested_keys
from evaluator.core.signatures.envelope import Envelope, PrivateKey, seal
from evaluator.core.signatures.statements import (
    BoardSummary,
    ColumnFacts,
    Conditions,
    Digested,
    EvaluationStatement,
    KeysStatement,
    KeyStatement,
    Previous,
    RowDigests,
    SeasonStatement,
    SnapshotStatement,
    Statement,
    SuiteFacts,
    TaskEntry,
    Withdrawals,
    WithdrawalStatement,
    name_digest,
    record_commitment,
    result_digest,
    rows_digest,
    tasks_digest,
)
from evaluator.core.suites.base import Column
from evaluator.scoring.board_agreement import with_agreement
from evaluator.scoring.board_summary import summarise
from evaluator.scoring.board_table import BoardFacts, as_csv
from evaluator.scoring.metrics.aggregate import (
    TaskScore,
    indicators_of_samples,
    score_tables,
    scores_of_samples,
    summarise_columns,
)
from evaluator.scoring.metrics.digits import rounded
from evaluator.scoring.metrics.paired import pair_tests
from tests.fakes.serving import Server, in_a_thread

START = datetime(2026, 11, 20, 10, tzinfo=UTC)
SUITE = SuiteFacts(
    slug="openagi", version="1", digest="5" * 64, columns=[
        ColumnFacts(
            key=key, metric=metric, indicator=False, fault=0.0, interval="bootstrap", tasks=[], weights={},
            undecided="", by_rules=[], low=0.0, high=1.0,
        )
        for key, metric in (("overall", ""), ("ViT", "ViT"))
    ], ranked_by="overall",
    higher_is_better=True,
)  # fmt: skip
CONDITIONS = Conditions(
    profile="lilliput", profile_digest="ab" * 32, split="public", samples=2, data_digest="", season="", commitment=""
)
OPERATOR = PrivateKey.from_secret("the operator's key")
SITE = "https://arena.example"
BOARD = f"{SITE}/boards/openagi/"
COVERAGE = {"run": 12, "total": 13}
COLUMNS = [
    Column(key=one.key, label="", description="", metric=one.metric, primary=one.key == SUITE.ranked_by)
    for one in SUITE.columns
]
PSEUDONYM = "deleted user 0badcafe"
Document = dict[str, Any]


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class SignedSite:
    """Three snapshots of a board with up to three evaluations of thirteen tasks. `get` is that of a `Fetcher`."""

    def __init__(
        self, *, key: PrivateKey = OPERATOR, snapshots: int = 3, hidden: bool = False,
        conditions: Conditions = CONDITIONS,
    ) -> None:  # fmt: skip
        """`hidden`: the split is, so that its records are not public."""
        self.key, self.hidden = key, hidden
        self.conditions = conditions.model_copy(update={"split": "hidden"}) if hidden else conditions
        self.withdrawals: list[Document] = []
        self.site = SITE
        self.keys: list[Document] = [self.key_entry(key)]
        self.objects: dict[str, bytes] = {}
        self.tasks_digests: dict[str, str] = {}
        self.evaluations: dict[str, Document] = {}
        self.snapshots: dict[int, Document] = {}
        self.seasons: dict[str, Document] = {}
        self.shown: int | None = None
        self.signs_agreement = True
        """Otherwise summaries are those from before they compared the metrics of a board."""
        self.asked: list[str] = []
        self.answers: dict[str, Callable[[], bytes]] = {}
        """In the place of the usual ones, by the beginning of their path."""
        for number in range(1, snapshots + 1):
            self.publish(number)

    @staticmethod
    def key_entry(key: PrivateKey, *, created: datetime = START, **fields: Any) -> Document:
        entry = {"id": key.public.id, "algorithm": "ed25519", "public_key": key.public.text, "retired": None}
        return {**entry, "created": created.isoformat(), "introduction": None, **fields}

    def publish(self, number: int) -> None:
        """A snapshot with one more evaluation than the one before."""
        self.evaluations[name(number)] = self.evaluated(number)
        best_first = sorted(self.evaluations, reverse=True)
        rows = [self._row(evaluation, place) for place, evaluation in enumerate(best_first, start=1)]
        rank(rows)
        salts = {
            row["evaluation"]: {field: f"salt of {row['evaluation']}, {field}" for field in ("planner", "owner")}
            for row in rows
        }
        digests = [
            RowDigests(
                evaluation=row["evaluation"],
                result=result_digest(row),
                names={
                    field: name_digest(evaluation=row["evaluation"], field=field, name=row[field], salt=salt)
                    for field, salt in salts[row["evaluation"]].items()
                },
                tasks=self.tasks_digests[row["evaluation"]],
            ).model_dump(mode="json")
            for row in rows
        ]
        content = {"rows": rows, "coverage": COVERAGE, "summary": None}
        self.snapshots[number] = {
            "format": "planarena-snapshot-proof/2", "suite": "openagi", "number": number,
            "digest": canonical_json.digest(content), "content": content, "rows": digests, "salts": salts,
            "signature": None,
        }  # fmt: skip
        self.sign(number)

    def sign(self, number: int, *, key: PrivateKey | None = None, **changes: Any) -> None:
        """Sign a snapshot as it is, or with changes to its statement."""
        proof = self.snapshots[number]
        content = proof["content"]
        content["summary"] = self._summary(content["rows"]).model_dump(mode="json")
        proof["digest"] = canonical_json.digest(content)
        rows = [RowDigests.model_validate(row) for row in proof["rows"]]
        before = self.snapshots.get(number - 1)
        previous = None
        if before is not None:
            statement = None if before["signature"] is None else Envelope.model_validate(before["signature"]).digest
            previous = Previous(number=number - 1, statement=statement, content=None if statement else before["digest"])
        key = key or self.key
        fields = {
            "key": key.public.id, "suite": SUITE, "conditions": self.conditions, "number": number,
            "created": START + timedelta(hours=number), "signed": START + timedelta(hours=number),
            "coverage": COVERAGE, "summary": BoardSummary.model_validate(proof["content"]["summary"]),
            "rows": Digested(count=len(rows), digest=rows_digest(rows)), "previous": previous,
            "withdrawals": Withdrawals(count=len(self.withdrawals), statement=self._last_withdrawal()),
        }  # fmt: skip
        proof["signature"] = sealed(SnapshotStatement(**{**fields, **changes}), key=key)

    def announce(self, name: str, commitments: dict[str, str], **changes: Any) -> None:
        """Announce a season, or further suites of one, with a signed statement."""
        document = self.seasons.setdefault(name, {"name": name, "suites": [], "announcements": []})
        document["suites"] = [
            {"suite": suite, "commitment": committed, "seed": None} for suite, committed in commitments.items()
        ]
        before = document["announcements"]
        fields = {
            "key": self.key.public.id, "season": name, "number": len(before) + 1, "announced": START, "opens": START,
            "closes": None, "signed": START,
            "suites": [{"suite": suite, "commitment": committed} for suite, committed in commitments.items()],
            "previous": Envelope.model_validate(before[-1]).digest if before else None,
        }  # fmt: skip
        statement = SeasonStatement(**{**fields, **changes})
        document |= statement.model_dump(mode="json", include={"announced", "opens", "closes"}) | {"closed": None}
        before.append(sealed(statement, key=self.key))

    def withdraw(self, *, number: int, key: PrivateKey | None = None, place: int | None = None, **fields: Any) -> None:
        """State, as the withdrawal with a place, that names or rows are taken back from snapshots up to a number."""
        key = key or self.key
        statement = self.snapshots[number]["signature"]
        found = {
            "key": key.public.id, "suite": "openagi", "number": place or len(self.withdrawals) + 1,
            "previous": self._last_withdrawal(), "what": "owner", "reason": "account deleted",
            "placeholder": PSEUDONYM, "through": number, "snapshot": Envelope.model_validate(statement).digest,
            "contents": {}, "created": START + timedelta(hours=number, minutes=1),
        }  # fmt: skip
        self.withdrawals.append(sealed(WithdrawalStatement.model_validate({**found, **fields}), key=key))

    def _last_withdrawal(self) -> str | None:
        return Envelope.model_validate(self.withdrawals[-1]).digest if self.withdrawals else None

    def sign_all_again(self, *, key: PrivateKey) -> None:
        """The whole history and every evaluation under another key, as whoever took over the site would."""
        self.key, self.keys = key, [self.key_entry(key)]
        for number in sorted(self.evaluations.values(), key=lambda one: one["evaluation"]):
            self._sign_evaluation(number)
        for number in sorted(self.snapshots):
            self.sign(number)

    def rotate(self, key: PrivateKey, *, at: datetime, introduced_by: PrivateKey | None = None) -> None:
        """Change to another key; `introduced_by` signs for it."""
        introduction = None
        if introduced_by is not None:
            statement = KeyStatement(key=introduced_by.public.id, introduces=key.public.text, created=at)
            introduction = sealed(statement, key=introduced_by)
        self.keys[0]["retired"] = at.isoformat()
        self.keys.insert(0, self.key_entry(key, created=at, introduction=introduction))
        self.key = key

    def evaluated(self, number: int) -> Document:
        """Results, records and artefacts of one evaluation, the better the higher its number."""
        evaluation = name(number)
        salt, records, entries = f"salt {number}", {}, []
        for task in range(12):
            record = self._record(number=number, task=task)
            data = canonical_json.dumps(record.model_dump(mode="json")).encode()
            records[record.task] = self.put(data)
            entries.append(entry_of(record, salt=salt, digest=records[record.task]))
        entries.append(
            TaskEntry(
                task="t12", metric="ViT", outcome="not_run", accepted=False, score=None, samples=[], indicators={},
                sample_indicators={},
                seconds=None,
                prompt_tokens=None, completion_tokens=None, record=None,
            )
        )  # fmt: skip
        made = {
            "format": "planarena-evaluation-proof/1", "evaluation": evaluation, "signature": None,
            "tasks": [entry.model_dump(mode="json") for entry in entries], "withheld": False,
            "salt": None if self.hidden else salt, "records": {} if self.hidden else records,
        }  # fmt: skip
        self._sign_evaluation(made)
        return made

    def _sign_evaluation(self, made: Document) -> None:
        entries = [TaskEntry.model_validate(entry) for entry in made["tasks"]]
        self.tasks_digests[made["evaluation"]] = tasks_digest(evaluation=made["evaluation"], tasks=entries)
        statement = EvaluationStatement(
            key=self.key.public.id, evaluation=made["evaluation"], suite=SUITE, conditions=self.conditions,
            finished=START, signed=START,
            tasks=Digested(count=len(entries), digest=self.tasks_digests[made["evaluation"]]),
        )  # fmt: skip
        made["signature"] = sealed(statement, key=self.key)

    def _record(self, *, number: int, task: int) -> ResultRecord:
        common: dict[str, Any] = {
            "suite": "openagi", "task": f"t{task}", "request": f"Request {task}",
            "metric": "ViT" if task % 2 else "BERT",
            "planner": PlannerCall(
                seconds=0.25 * (task + 1), prompt_tokens=100 + task, completion_tokens=7, cached_tokens=5 * task or None
            ),
        }  # fmt: skip
        if task == 0:
            return ResultRecord(
                outcome=Outcome.PLANNER_FAULT, reason=Reason.INVALID_PLAN, reason_text="No.", score=0.0, **common
            )
        samples = []
        for index in range(2):
            reference = ArtefactReference(
                digest=self.put(f"artefact {number} {task} {index}".encode()), media_type="text/plain"
            )
            score = (number + task / 20 + index / 10) / 10
            samples.append(
                SampleResult(
                    index=index, score=score, inputs={"text": reference}, reference=None, answer=reference, steps=[]
                )
            )
        scores = [sample.score or 0 for sample in samples]
        return ResultRecord(outcome=Outcome.SCORED, score=sum(scores) / 2, samples=samples, **common)

    def _row(self, evaluation: str, place: int) -> Document:
        entries = [TaskEntry.model_validate(entry) for entry in self.evaluations[evaluation]["tasks"]]
        found: Mapping[str, Any] = summarise_columns(columns=COLUMNS, results=self._scores(evaluation))
        known = [entry for entry in entries if entry.seconds is not None]
        usage = {
            field: round(sum(getattr(entry, field) for entry in known) / len(known), 6)
            for field in ("seconds", "prompt_tokens", "completion_tokens")
        }
        usage["cached_tokens"] = round(sum(entry.cached_tokens or 0 for entry in known) / len(known), 6)
        outcomes = [entry.outcome for entry in entries]
        replies = outcomes.count("scored") + outcomes.count("planner_fault")
        uncached = usage["prompt_tokens"] - usage["cached_tokens"]
        usd = (uncached * 2.5 + usage["cached_tokens"] * 0.25 + usage["completion_tokens"] * 10.0) / 1_000_000
        return {
            "rank": place, "rank_low": None, "rank_high": None, "planner": f"planner of {evaluation[-1]}",
            "kind": "bundled", "owner": f"user{evaluation[-1]}", "evaluation": evaluation,
            "finished": START.isoformat(), "samples": 2, "metrics": found["metrics"],
            "outcomes": found["outcomes"], "usage": usage, "readable": {"mean": 1.0, "tasks": replies},
            "cost": {"usd": round(usd, 9), "prompt_price": 2.5, "completion_price": 10.0, "cached_price": 0.25},
        }  # fmt: skip

    def _summary(self, rows: list[Document]) -> BoardSummary:
        rows = [row for row in rows if row["metrics"].get("overall")]
        if not rows:
            return BoardSummary(leaders=0)
        runs = [[self._scores(row["evaluation"])] for row in rows]
        scores, strata = score_tables(column=COLUMNS[0], runs=runs, samples=2)
        method = COLUMNS[0].interval
        tests = pair_tests(scores, method=method, strata=strata)
        means = [row["metrics"]["overall"]["mean"] for row in rows]
        summary = summarise(scores, means=means, tests=tests, method=method, strata=strata)
        if self.signs_agreement:
            shown = [Row.model_validate(row) for row in rows]
            return with_agreement(summary, rows=[figures_of(row) for row in shown], columns=COLUMNS)
        return summary

    def _scores(self, evaluation: str) -> list[TaskScore]:
        entries = [TaskEntry.model_validate(entry) for entry in self.evaluations[evaluation]["tasks"]]
        return [TaskScore(one.task, one.metric, Outcome(one.outcome), one.score) for one in entries]

    def put(self, data: bytes) -> str:
        self.objects[digest_of(data)] = data
        return digest_of(data)

    def get(self, path: str, *, most_bytes: int) -> bytes:
        self.asked.append(path)
        for beginning, answer in self.answers.items():
            if path.startswith(beginning):
                return answer()
        found = self._found(path)
        if found is None:
            raise MissingError("the site answers 404")
        return found if isinstance(found, bytes) else json.dumps(found).encode()

    def _found(self, path: str) -> Document | bytes | None:
        parts = path.partition("?")[0].strip("/").split("/")
        if path == "/.well-known/planarena-keys.json":
            return self._keys()
        if parts[0] == "objects":
            return self.objects.get(parts[1])
        if parts[0] == "boards":
            return self._published(parts)
        if parts[2] == "seasons":
            listed = [season for season in self.seasons.values() if parts[3:] in ([], [season["name"]])]
            if parts[3:]:
                return listed[0] if listed else None
            return {"results": listed, "next": None, "previous": None}
        if parts[2] == "evaluations":
            return self.evaluations.get(parts[3])
        if len(parts) == 4:
            return self._board(self.snapshots[max(self.snapshots)])
        if parts[4] == "withdrawals":
            return {"format": "planarena-withdrawals/1", "suite": "openagi", "withdrawals": self.withdrawals}
        if parts[4] == "rows":
            newest = self.snapshots[self.shown or max(self.snapshots)]
            many = len(newest["content"]["rows"])
            return {
                "snapshot": newest["number"], "rows": newest["content"]["rows"], "coverage": COVERAGE, "total": many,
                "matching": many, "next": None,
                "previous": None,
            }  # fmt: skip
        if len(parts) > 6:
            return self.snapshots.get(int(parts[5]))
        if len(parts) > 5:
            proof = self.snapshots[int(parts[5])]
            return {
                **self._board(proof), "suite_version": "1",
                "url": f"{self.site}/boards/openagi/snapshots/{proof['number']}/", "signature": proof["signature"],
            }  # fmt: skip
        listed = [
            {"number": number, "digest": proof["digest"], "signature": proof["signature"]}
            for number, proof in sorted(self.snapshots.items(), reverse=True)
        ]
        return {"results": listed, "next": None, "previous": None}

    def _keys(self) -> Document:
        entries = [KeyEntry.model_validate_json(json.dumps(entry)) for entry in self.keys]
        served = [entry.model_dump(mode="json") for entry in entries]
        statement = KeysStatement(key=self.key.public.id, keys=digested_keys(entries), signed=START)
        return {"format": "planarena-keys/2", "keys": served, "signature": sealed(statement, key=self.key)}

    def _board(self, proof: Document) -> Document:
        """A snapshot as the API has it."""
        return {
            "suite": "openagi", "number": proof["number"], "digest": proof["digest"],
            "created": (START + timedelta(hours=proof["number"])).isoformat(), **self.conditions.public_json(),
            "content": proof["content"],
        }  # fmt: skip

    def _published(self, parts: list[str]) -> Document | bytes | None:
        """A page, or a file of a snapshot."""
        name, _, extension = parts[-1].partition(".")
        proof = self.snapshots[int(name) if name.isdecimal() else max(self.snapshots)]
        if extension == "json":
            return {
                "format": "planarena-board/1", "address": f"{self.site}/boards/openagi/snapshots/{proof['number']}/",
                "suite": {"slug": "openagi", "version": "1", "digest": SUITE.digest, "title": "OpenAGI", "metrics": []},
                "conditions": self.conditions.public_json(),
                "snapshot": {name: self._board(proof)[name] for name in ("number", "digest", "created")},
                "content": proof["content"],
            }  # fmt: skip
        if extension == "csv":
            facts = BoardFacts(
                columns=COLUMNS, site=self.site, suite="openagi", suite_version="1", suite_digest=SUITE.digest,
                snapshot=proof["number"], snapshot_digest=proof["digest"],
                conditions=self.conditions.public_json(),
            )  # fmt: skip
            return as_csv(facts=facts, rows=proof["content"]["rows"]).encode()
        return page(proof["content"]["rows"]).encode()


@contextmanager
def served(site: SignedSite) -> Iterator[str]:
    """The site behind HTTP; yields the address of its board."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                body, status = site.get(self.path, most_bytes=0), 200
            except MissingError:
                body, status = b"{}", 404
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with in_a_thread(Server(("127.0.0.1", 0), Handler)) as site.site:
        yield f"{site.site}/boards/openagi/"


def name(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def page(rows: list[Document]) -> str:
    """The table of a board's page, as far as it is compared."""
    lines = [
        f'<tr id="row-{row["evaluation"]}"><td><span data-cell="rank">{row["rank"]}</span><input></td>'
        f'<th><a data-cell="planner">{row["planner"]}</a> by <a data-cell="owner">{row["owner"]}</a></th>'
        + "".join(
            f'<td><i data-cell="shown-{key}">{rounded(value)}</i> or so, '
            f'<span data-cell="metric-{key}">{value["mean"]:.3f}</span></td>'
            for key, value in row["metrics"].items()
            if value
        )
        + "</tr>"
        for row in rows
    ]
    return f"<!doctype html><table><tr><th>Rank</th></tr>{''.join(lines)}</table>"


def rank(rows: list[Document]) -> None:
    """Ranks and their ranges by the primary metric. Each evaluation differs from any other by the same on every task
    but one, so that paired tests leave no rank open."""
    values = [row["metrics"]["overall"] for row in rows]
    for row, own in zip(rows, values, strict=True):
        row["rank"] = 1 + sum(other["mean"] > own["mean"] for other in values)
        row["rank_low"] = row["rank_high"] = row["rank"]
        row["rank_tests"] = len(rows) * (len(rows) - 1) // 2


def entry_of(record: ResultRecord, *, salt: str, digest: str) -> TaskEntry:
    assert record.planner is not None
    return TaskEntry(
        task=record.task, metric=record.metric, outcome=record.outcome.value, accepted=False, score=record.score,
        samples=list(scores_of_samples(record)), indicators=record.indicators,
        sample_indicators=indicators_of_samples(record),
        seconds=record.planner.seconds, prompt_tokens=record.planner.prompt_tokens,
        completion_tokens=record.planner.completion_tokens, cached_tokens=record.planner.cached_tokens,
        record=record_commitment(salt=salt, task=record.task, digest=digest),
    )  # fmt: skip


def sealed(statement: Statement, *, key: PrivateKey) -> Document:
    return seal(statement=statement, key=key).model_dump(mode="json")


def opened(envelope: Document) -> Document:
    """What a payload says, unchecked."""
    found: Document = json.loads(base64.b64decode(envelope["payload"]))
    return found
