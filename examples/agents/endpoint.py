"""What the agents of this folder share: a planner endpoint (planner/1) whose plan is the trace of tool calls.

No tool runs while the agent plans. A call is recorded as a step, and its result is a name that later calls may use.
"""

import argparse
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RULES = (
    "You plan work for a set of tools. Call all tools that the request needs, one after the other. A tool returns the "
    "name of its result, not the result. Arguments are such names, and the names of the given resources. "
    "Stop when the last result answers the request."
)


@dataclass
class Tool:
    """A tool of the request, for any framework."""

    name: str
    description: str
    arguments: dict[str, str]
    """Types by name."""
    call: Callable[..., str]
    """Takes the arguments by name, and returns the names of the results."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        properties = {name: {"type": "string", "description": kind} for name, kind in self.arguments.items()}
        return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


@dataclass
class Recorder:
    """The plan of one request."""

    request: dict[str, Any]
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def prompt(self) -> str:
        task = self.request["task"]
        given = ", ".join(f"${name} ({kind})" for name, kind in task["resources"].items()) or "nothing"
        return f"{task['request']}\n\nGiven: {given}"

    def tools(self) -> list[Tool]:
        """The offered tools, with names that all services accept."""
        return [self._tool(tool) for tool in self.request["tools"]]

    def _tool(self, tool: dict[str, Any]) -> Tool:
        # A function: frameworks read the signature, which a `functools.partial` has none of.
        def call(**inputs: str) -> str:
            step_id = f"s{len(self.steps) + 1}"
            outputs = {name: f"{step_id}.{name}" for name in tool["outputs"]}
            self.steps.append({"id": step_id, "tool": tool["name"], "inputs": inputs, "outputs": outputs})
            return ", ".join(outputs.values())

        name = re.sub(r"[^A-Za-z0-9_]+", "_", tool["name"])
        return Tool(name=name, description=tool["description"], arguments=tool["inputs"], call=call)

    def plan(self) -> dict[str, Any]:
        """All steps; the answers are the results that no step takes."""
        used = {value for step in self.steps for value in step["inputs"].values()}
        results = [name for step in self.steps for name in step["outputs"].values()]
        return {"steps": self.steps, "answers": [name for name in results if name not in used]}


def serve(run: Callable[[Recorder], None]) -> None:
    """Answer requests with the plans of an agent, which `run` lets call the tools of a recorder."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            recorder = Recorder(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            run(recorder)
            body = json.dumps({"plan": recorder.plan()}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=9000)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"Submit http://127.0.0.1:{server.server_address[1]}/ as an HTTP endpoint.", flush=True)
    server.serve_forever()
