"""A complete planner endpoint (planner/1) with nothing but Python: python examples/planner_server.py [--port 9000]

It reads the request's words and repairs what they complain about. Replace `make_plan` by your own planner.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What a word in the request asks for, in the order in which the tools are called.
WORDS = {
    "low-resolutioned": "Image Super Resolution",
    "noisy": "Image Denoising",
    "blurry": "Image Deblurring",
    "grayscale": "Colorization",
    "class label": "Image Classification",
}


def make_plan(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one planner/1 request with a plan in the form plan/1."""
    text, offered = request["task"]["request"], {tool["name"]: tool for tool in request["tools"]}
    value, steps = "$" + next(iter(request["task"]["resources"])), []
    for word, name in WORDS.items():
        if word in text and name in offered:
            argument, output = next(iter(offered[name]["inputs"])), next(iter(offered[name]["outputs"]))
            step_id = f"s{len(steps) + 1}"
            result = f"{step_id}.{output}"
            steps.append({"id": step_id, "tool": name, "inputs": {argument: value}, "outputs": {output: result}})
            value = result
    return {"steps": steps, "answers": [value]}


class Handler(BaseHTTPRequestHandler):
    """One POST, one plan. Everything needed is in the request, so any number of copies may answer."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"plan": make_plan(request)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9000)
    port = parser.parse_args().port
    print(f"Submit http://127.0.0.1:{port}/ as an HTTP endpoint.", flush=True)
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
