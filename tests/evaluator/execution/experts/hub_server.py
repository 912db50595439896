"""As much of a model hub as its client needs to download a repository, on 127.0.0.1."""

import hashlib
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.fakes.serving import Server, in_a_thread


def _handler(folder: Path, *, commits, said, answers, revisions):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

        def do_HEAD(self):
            self.answer(body=False)

        def do_GET(self):
            self.answer(body=True)

        def answer(self, *, body):
            path = unquote(urlsplit(self.path).path)
            for beginning, answer in answers.items():
                if path.startswith(beginning):
                    answer(self)
                    return
            parts = path.strip("/").split("/")
            if parts[:2] == ["api", "models"]:
                self.describe(repo="/".join(parts[2:4]), what=parts[4], revision="/".join(parts[5:]), body=body)
            elif parts[2:3] == ["resolve"]:
                self.give(repo="/".join(parts[:2]), name="/".join(parts[4:]), body=body)
            else:
                self.send({}, status=404, body=body)

        def describe(self, *, repo, what, revision, body):
            if repo not in commits:
                self.send({"error": "Repository not found"}, status=404, error="RepoNotFound", body=body)
                return
            if revisions is not None and revision not in {*revisions, commits[repo]}:
                self.send({"error": "Invalid rev id"}, status=404, error="RevisionNotFound", body=body)
                return
            names = [path.relative_to(folder / repo) for path in sorted((folder / repo).rglob("*")) if path.is_file()]
            if what == "tree":
                self.send([self.entry(repo, name) for name in names], body=body)
            else:
                siblings = [{"rfilename": name.as_posix(), **self.blob(repo, name)} for name in names]
                card = {"license": "mit"}
                known = {"id": repo, "sha": commits[repo], "siblings": siblings, "cardData": card}
                self.send({**known, **said}, body=body)

        def blob(self, repo, name):
            if "blobs=" not in self.path:
                return {}
            return {"size": (folder / repo / name).stat().st_size, "blobId": "0" * 40}

        def entry(self, repo, name):
            data = (folder / repo / name).read_bytes()
            return {"type": "file", "path": name.as_posix(), "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

        def give(self, *, repo, name, body):
            path = folder / repo / name
            if not path.is_file():
                self.send({}, status=404, error="EntryNotFound", body=body)
                return
            data = path.read_bytes()
            self.send_response(200)
            self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
            self.send_header("X-Repo-Commit", commits[repo])
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if body:
                self.wfile.write(data)

        def send(self, value, *, body, status=200, error=None):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if error is not None:
                self.send_header("X-Error-Code", error)
            self.end_headers()
            if body:
                self.wfile.write(data)

    return Handler


@contextmanager
def serving(folder: Path, *, commits: dict[str, str], said=None, answers=None, revisions=None):
    """A hub with the repositories `owner/name` in a folder, each at one commit; gives its address.

    Args:
        said: what it says about its models beside or instead of the truth.
        revisions: names of branches and tags that there are; None: any.
        answers: functions that answer requests for paths with these beginnings, given the handler.
    """
    handler = _handler(folder, commits=commits, said=said or {}, answers=answers or {}, revisions=revisions)
    server = Server(("127.0.0.1", 0), handler)
    with in_a_thread(server) as url:
        yield url
