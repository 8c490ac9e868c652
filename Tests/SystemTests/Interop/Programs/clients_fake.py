"""A stand-in hub that gives a client library answers that a hub must not give, or seldom gives."""
import json, threading, time

import zmq

WELCOME = {
    "protocol": 1, "session": "s1", "hub": "fake", "epoch": "aaaaaaaa", "head": 0, "instance": "fake", "grants": {},
    "limits": {"frameBytes": 1048576, "batchRecords": 1000, "recordBytes": 65536, "queries": 2}, "settings": {}, "persons": [],
    "credit": {"records": 10000, "bytes": 8388608}, "heartbeat": {"interval": 5000, "timeout": 20000}, "serves": [], "feed": ""}


class FakeHub(threading.Thread):
    """`twist(hub, verb, body)` returns messages to send, each a list of frames or (verb, body), or None for the usual answer."""

    def __init__(self, address, twist, isForPlugins=False):
        super().__init__(daemon=True)
        context = zmq.Context() if isForPlugins else zmq.Context.instance()
        self.socket = context.socket(zmq.ROUTER)
        self.socket.linger = 0
        if isForPlugins:
            self.judge = threading.Thread(target=self.judgeTokens, args=(context.socket(zmq.REP),), daemon=True)
            self.judge.start()
            self.socket.plain_server = True
        self.socket.bind(address)
        self.twist, self.heard, self.isOver, self.changed = twist, [], False, threading.Condition()
        self.start()

    def run(self):
        while not self.isOver:
            if not self.socket.poll(50):
                continue
            peer, verb, *rest = self.socket.recv_multipart()
            try:
                verb, body = verb.decode(), json.loads(rest[0])
            except ValueError:
                self.heard.append((f"{verb} that is not JSON: {rest[0][:80]}", {}))
                continue
            self.heard.append((verb, body))
            with self.changed:
                self.changed.notify_all()
            for message in self.twist(self, verb, body) or usual(verb, body):
                if isinstance(message, tuple):
                    message = [message[0].encode(), json.dumps(message[1]).encode()]
                self.socket.send_multipart([peer, *message])
        self.socket.close()

    def judgeTokens(self, judge):
        """Accepts every launch token."""
        judge.linger = 0
        judge.bind("inproc://zeromq.zap.01")
        while not getattr(self, "isOver", False):
            if judge.poll(50):
                version, request, *_ = judge.recv_multipart()
                judge.send_multipart([version, request, b"200", b"OK", b"fake", b""])
        judge.close()

    def end(self):
        self.isOver = True
        self.join()

    def until(self, isSo, seconds):
        """Waits until its received messages make this true."""
        with self.changed:
            self.changed.wait_for(isSo, seconds)

    def count(self, verb):
        return sum(heard == verb for heard, _ in self.heard)


def stored(body, **members):
    n = len(body["records"])
    return ("STORED", {"batch": body["batch"], "results": [{"result": "stored", "number": i + 1, "seq": i + 1} for i in range(n)],
                       "credit": {"records": n, "bytes": 0}, **members})


def usual(verb, body):
    if verb == "HELLO":
        return [("WELCOME", WELCOME)]
    if verb == "SAMPLES":
        return [stored(body)]
    if verb in ("PING", "BYE"):
        return [({"PING": "PONG", "BYE": "BYE"}[verb], body)]
    return []


def on(verb, *messages):
    """Answers this verb with these messages, each a value or made of the body."""
    return lambda hub, heard, body: [m(body) if callable(m) else m for m in messages] if heard == verb else None


def without(path):
    body = json.loads(json.dumps(WELCOME))
    *way, last = path.split(".")
    place = body
    for name in way:
        place = place[name]
    del place[last]
    return body


def forgets(hub, verb, body):
    if verb == "SAMPLES" and hub.count("SAMPLES") == 1:
        return [("ERROR", {"code": "hello-first", "reason": "say HELLO", "closed": True})] * 3
    if verb == "HELLO":
        return [("WELCOME", {**WELCOME, "session": f"s{hub.count('HELLO')}"})]


def full(hub, verb, body):
    """`EARLY` counts batches that came before `after` was over; none is on its way when the first is refused."""
    if verb != "SAMPLES":
        return
    if time.monotonic() < getattr(hub, "due", 0):
        hub.heard.append(("EARLY", {}))
    if hub.count("SAMPLES") <= 2:
        hub.due = time.monotonic() + 0.7
        return [("ERROR", {"code": "store", "reason": "the disk is full", "closed": False, "ref": body["batch"], "after": 700,
                           "credit": {"records": len(body["records"]), "bytes": 500}}), ("PING", {"nonce": "n"})]


def stingy(hub, verb, body):
    if verb == "HELLO":
        return [("WELCOME", {**WELCOME, "credit": {"records": 3, "bytes": 2000}})]
    if verb == "SAMPLES":
        if len(body["records"]) > 3:
            return [("ERROR", {"code": "credit", "reason": "beyond credit", "closed": True})]
        return [stored(body, credit={"records": len(body["records"]), "bytes": 2000})]


def silent(hub, verb, body):
    """Ignores the first three greetings and pings."""
    if hub.count(verb) <= 1 and verb in ("HELLO", "SAMPLES"):
        return [[b"NEWS", b"{}"]]
    if verb == "PING":
        return [("ERROR", {"code": "hello-first", "reason": "say HELLO", "closed": True})]
    if verb == "HELLO":
        return [("WELCOME", {**WELCOME, "session": f"s{hub.count('HELLO')}"})]


# The script of the hub, the expected end of the client, and its expected output or messages.
CASES = [
    ("members, verbs and frames of a newer hub are ignored", on(
        "SAMPLES", [b"NEWS", b"not even JSON"], lambda body: stored(body, news={"a": [1]})), 0, None),
    ("a WELCOME that is not JSON is named", on("HELLO", [b"WELCOME", b'{"session":']), 76, "WELCOME"),
    ("a STORED that is not an object is named", on("SAMPLES", [b"STORED", b"[]"]), 76, "STORED"),
    ("a WELCOME without credit is named", on("HELLO", ("WELCOME", without("credit"))), 76, "WELCOME.credit"),
    ("a WELCOME without a limit is named", on("HELLO", ("WELCOME", without("limits.frameBytes"))), 76, "WELCOME.limits.frameBytes"),
    ("a WELCOME with a text as session only", on("HELLO", ("WELCOME", {**WELCOME, "session": 7})), 76, "WELCOME.session"),
    ("too few results are not taken for an answer", on(
        "SAMPLES", lambda body: ("STORED", {"batch": body["batch"], "results": []})), 76, "STORED.results"),
    ("a result that there is not is named", on("SAMPLES", lambda body: ("STORED", {
        "batch": body["batch"], "results": [{"result": "perhaps"} for _ in body["records"]]})), 76, "STORED.results[0].result"),
    ("a message of one frame is named", on("HELLO", [b"WELCOME"]), 76, "frame"),
    ("STORED of another batch stores nothing", on(
        "SAMPLES", ("STORED", {"batch": 999999, "results": [{"result": "stored", "number": 1, "seq": 1}]}), stored), 0, None),
    ("the hub's refusal is reported", on("HELLO", ("ERROR", {"code": "forbidden", "reason": "not today", "closed": True})), 77, "not today"),
    ("a refused batch is reported", on("SAMPLES", lambda body: (
        "ERROR", {"code": "field", "reason": "SAMPLES.records: wrong", "closed": False, "ref": body["batch"]})), 77, "SAMPLES.records: wrong"),
    ("the same session twice sends nothing twice", on("HELLO", ("WELCOME", WELCOME), ("WELCOME", WELCOME)), 0, {"SAMPLES": 1}),
    ("a session that was forgotten is begun again, and its records given again", forgets, 0, {"SAMPLES": 2, "HELLO": 2}),
    ("gives again after `after` of ERROR store, and not before", full, 0, {"SAMPLES": 3, "PONG": 2, "EARLY": 0}),
    ("credit is kept", stingy, 0, None),
    ("a hub that is away at first is greeted again, its answer that was lost asked for again", silent, 0, {"SAMPLES": 2}),
]

