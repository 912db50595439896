"""What a checkpoint may do once it runs code in the model server: each is that code (`taken_over/sitecustomize.py`)."""

from tests.hostile.checkpoints.base import Build, Files, Target, add
from tests.hostile.taken_over.sitecustomize import MARK

_HANGS = f"{MARK}; within 4"
"""The first line of those that do nothing more until they are killed: their deadlines are short ones, in seconds."""


def _build(code: str, *, mark: str) -> Build:
    def build(files: Files, target: Target) -> Files:
        own = code.replace("BAIT", target.path).replace("SECRETS", target.secrets).replace("PORT", target.port)
        return {**files, "README.md": f"{mark}\n{own}\n".encode()}

    return build


_ENDING = {
    "read files": """
tried(*(lambda path=path: open(path).read(500) for path in (
    "BAIT", "SECRETS/worker_token", "/etc/shadow", "/proc/1/environ", "/proc/self/environ",
    f"/proc/{os.getppid()}/environ",
    f"/proc/{os.getppid()}/mem", "/proc/self/root/BAIT", "/proc/self/cwd/../BAIT", "/dev/mem", "/proc/kcore")))
""",
    "read the environment of every process": """
tried(*(lambda pid=pid: open(f"/proc/{pid}/environ").read(500) for pid in range(1, 60000)
        if os.path.exists(f"/proc/{pid}") and pid != os.getpid()), lambda: os.listdir("SECRETS"))
""",
    "read through symbolic links": """
tried(lambda: os.symlink("BAIT", "here") or open("here").read(),
      lambda: os.link("BAIT", "there") or open("there").read(),
      lambda: os.symlink("SECRETS", "/model/x") or os.listdir("/model/x"))
""",
    "read the memory of its parent": """
tried(*(lambda pid=pid: call(101, 16, pid, 0, 0) for pid in range(1, 40)),
      lambda: call(310, os.getppid(), 0, 1, 0, 1, 0), lambda: call(438, call(434, os.getppid(), 0), 0, 0))
""",
    "call the site": """
def get():
    s = socket.create_connection(("127.0.0.1", PORT), timeout=2)
    s.sendall(b"GET /api/v1/evaluations/ HTTP/1.0\\r\\n\\r\\n")
    return s.recv(500)
tried(get, lambda: socket.socket(socket.AF_UNIX), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
      lambda: call(41, 2, 1, 0), lambda: call(41, 16, 3, 0), lambda: call(425, 1, 0))
""",
    "signal its parent and everybody else": """
tried(*(lambda pid=pid, n=n: os.kill(pid, n) for pid in (os.getppid(), 1, -1)
        for n in (signal.SIGTERM, signal.SIGSTOP)),
      lambda: os.killpg(os.getpgid(os.getppid()), signal.SIGKILL))
""",
    "start threads without end": """
def more():
    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
try:
    more()
except BaseException as error:
    tell(error)
""",
    "run another program": """
tried(lambda: os.execv("/bin/sh", ["sh", "-c", "cat BAIT"]), lambda: subprocess.run(["/bin/cat", "BAIT"]),
      lambda: os.posix_spawn("/bin/sh", ["sh"], {}), lambda: call(322, -1, 0, 0, 0, 0))
""",
    "grow": """
kept = []
while True:
    kept.append(bytes([1]) * (1 << 24))
""",
    "grow in files without a name": """
tried(lambda: os.ftruncate(os.memfd_create("x"), 1 << 40), lambda: open("x", "wb").write(b"x" * 10_000_000),
      lambda: open("/dev/shm/planarena-hostile", "wb").write(b"x" * 10_000_000),
      lambda: call(29, 4711, 1 << 30, 0o1666), lambda: call(240, 0, 0, 0, 0))
""",
    "fill the table of open files": """
kept = []
try:
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
except BaseException as error:
    tell(len(kept), error)
""",
    "change its model and its code": """
import gpu_jobs
tried(lambda: open("/model/config.json", "w").write("x"), lambda: open(gpu_jobs.__file__, "a").write("x"),
      lambda: os.unlink("/model/config.json"), lambda: os.chmod("/model/config.json", 0o777),
      lambda: call(165, 0, 0, 0, 0, 0))
""",
    "become root": """
tried(lambda: os.setresuid(0, 0, 0), lambda: call(272, 0x10000000), lambda: call(308, 0, 0), lambda: call(105, 0),
      lambda: os.chroot("/"), lambda: call(321, 0, 0, 0), lambda: call(250, 0, 0, 0))
""",
    "end at once": "os._exit(0)",
    "end by a signal": "os.kill(os.getpid(), signal.SIGSEGV); ctypes.string_at(0)",
    "send frames without end": "while True: channel.send(b'{}')",
    "send nested JSON": "channel.send(b'[' * 60000); time.sleep(600)",
    "send numbers that are none": 'channel.send(b\'{"type": "token_count", "tokens": NaN}\'); time.sleep(600)',
    "answer before it is asked": 'channel.send(b\'{"type": "answers", "answers": []}\'); time.sleep(600)',
    "write markup into a row": 'tell("<script>alert(1)</script><img src=x onerror=alert(1)>\\u202e\\x00\\ud800")',
    "answer without end": """
loaded()
while True:
    call_ = json.loads(channel.receive(most=1 << 28))
    channel.send(json.dumps({"type": "answers", "answers": [{"type": "completion", "text": "x" * 200_000,
        "truncated": False, "usage": {"prompt_tokens": 10**9, "completion_tokens": 10**9}, "beams": []}
        for _ in call_["calls"]]}).encode())
""",
    "ask about constraints that there are not": """
loaded()
channel.receive(most=1 << 28)
while True:
    channel.send(json.dumps({"type": "follow", "constraint": 0, "written": ["x"] * 9000}).encode())
    channel.receive(most=1 << 28)
""",
    "answer with markup and halves of pairs": """
loaded()
while True:
    asked = json.loads(channel.receive(most=1 << 28))
    text = '[{"task": "<script>alert(1)</script>", "id": 0, "dep": [-1], "args": {"image": "\\\\ud800\\\\u0000"}}]'
    channel.send(json.dumps({"type": "answers", "answers": [{"type": "completion", "text": text, "truncated": True,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1}, "beams": []} for _ in asked["calls"]]}).encode())
""",
}
_HANGING = {
    "fork without end": """
while True:
    try:
        os.fork()
    except BaseException:
        time.sleep(0.01)
""",
    "stop itself": "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(600)",
    "hang": "time.sleep(600)",
    "use all processor time": "while True: pass",
    "ignore every signal": """
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except BaseException:
        pass
while True:
    time.sleep(1)
""",
    "announce a frame of 4 GB": "connection.sendall(struct.pack('>I', 2**32 - 1)); time.sleep(600)",
    "send its answer byte by byte": """
while True:
    connection.sendall(b"\\0")
    time.sleep(0.2)
""",
    "say that it is something else": """
loaded(architecture="<script>alert(1)</script>", device="BAIT")
time.sleep(600)
""",
    "fill the log": """
while True:
    os.write(2, b"<script>alert(1)</script> " * 1000 + b"\\n")
""",
    "answer nothing after it has loaded": "loaded(); time.sleep(600)",
    "answer with other answers than were asked for": """
loaded()
channel.receive(most=1 << 28)
channel.send(json.dumps({"type": "answers", "answers": [{"type": "scores", "log_probabilities": [5.0, -1e308],
    "usage": {"prompt_tokens": 0, "completion_tokens": 0}}] * 120}).encode())
time.sleep(600)
""",
}
add({f"taken over: {name}": _build(code, mark=MARK) for name, code in _ENDING.items()})
add({f"taken over: {name}": _build(code, mark=_HANGS) for name, code in _HANGING.items()})
