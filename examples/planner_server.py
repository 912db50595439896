"""A complete planner endpoint (planner/1) in plain Python: python examples/planner_server.py [--port 9000]

It reverses the degradations that the request names, then performs the task. Replace `make_plan` by your own planner.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPAIRS = {"low-resolutioned": "Image Super Resolution", "noisy": "Image Denoising", "blurry": "Image Deblurring",
           "grayscale": "Colorization"}  # fmt: skip
GOALS = {"caption": "Image Captioning", "class label": "Image Classification", "object names": "Object Detection",
         "generate a image": "Text to Image Generation", "summarization": "Text Summarization",
         "sentiment": "Sentiment Analysis", "document and": "Question Answering",
         "image and": "Visual Question Answering", "in German": "Machine Translation"}  # fmt: skip


def make_plan(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one planner/1 request with a plan in the form plan/1."""
    text, tools, steps = request["task"]["request"], {tool["name"]: tool for tool in request["tools"]}, []

    def call(name: str, *values: str) -> str:
        step_id, output = f"s{len(steps) + 1}", next(iter(tools[name]["outputs"]))
        inputs = dict(zip(tools[name]["inputs"], values, strict=True))
        steps.append({"id": step_id, "tool": name, "inputs": inputs, "outputs": {output: f"{step_id}.{output}"}})
        return f"{step_id}.{output}"

    values = []
    for resource, kind in request["task"]["resources"].items():
        repairs = REPAIRS if kind == "image" else {f"clozed English {resource}": "Fill Mask"}
        values.append(f"${resource}")
        for tool in (tool for word, tool in repairs.items() if word in text and tool in tools):
            values[-1] = call(tool, values[-1])
    for tool in (tool for word, tool in GOALS.items() if word in text and tool in tools):
        values = [call(tool, *values)]
    return {"steps": steps, "answers": values[:1]}


class Handler(BaseHTTPRequestHandler):
    """One POST, one plan. The request contains everything needed, so any number of replicas may answer."""

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
