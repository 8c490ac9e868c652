"""Bad input of all kinds for SECONDS, from SEED: hostile.py SECONDS SEED. Prints how many of each were sent."""
import json, os, random, socket, struct, sys, time, zmq

seconds, R = float(sys.argv[1]), random.Random(int(sys.argv[2]))
door, feed = (os.environ[name].removeprefix("ipc://") for name in ("HUB_DOOR", "HUB_FEED"))
run = os.path.dirname(door)
everywhere = [door, feed, run + "/plugin-door"]
context = zmq.Context()
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"
WEIGHT = b'{"type":"height","value":1.8,"unit":"m","start":"2024-03-15T07:30:05+01:00","key":"k","metadata":{"a":[1]}}'
MESSAGES = [
    (b"HELLO", b'{"protocol":[1],"instance":"hostile","plugin":"hostile","version":"1","reads":["*"]}'),
    (b"SAMPLES", b'{"batch":1,"records":[' + WEIGHT + b"]}"), (b"PING", b'{"a":1}'), (b"PONG", b'{"nonce":1}'),
    (b"LIVE", b'{"type":"weight","value":72.1,"unit":"kg"}'), (b"EVENT", b'{"event":"e","severity":"error"}'),
    (b"QUERY", b'{"id":7,"want":"records","types":["weight"],"since":"k7qz2m5a-1","limit":5,"next":"a"}'),
    (b"COMMAND", b'{"id":3,"instance":"hub","command":"retract","args":{"numbers":[99999999]},"dryRun":true}'),
]
ODD = [b"null", b"{}", b"[" * 500, b'"', b"1e999", b"-0", b"1e-400", b"9223372036854775808", b"\\ud800", b"\xed\xa0\x80", b"\0"]


def mutated(data):
    data = bytearray(data)
    for _ in range(R.choice((1, 1, 3))):
        place = R.randrange(len(data) + 1)
        match R.randrange(4):
            case 0: data[place:place + 1] = R.randbytes(1)
            case 1: del data[place:place + R.randrange(1, 8)]
            case 2: data[place:place] = R.choice(ODD)
            case 3: data[place:place] = data[R.randrange(len(data) + 1):][:20]
    return bytes(data)


def connection(path):
    plug = socket.socket(socket.AF_UNIX)
    plug.settimeout(1)
    plug.connect(path)
    return plug


def mutants():
    peer = context.socket(zmq.DEALER)
    peer.linger = 0
    peer.connect("ipc://" + door)
    peer.send_multipart(MESSAGES[0])
    for _ in range(500):
        verb, body = R.choice(MESSAGES)
        frames = [R.choice((verb, verb, verb, R.randbytes(4))), mutated(body)] + [b""] * R.choice((0, 0, 0, 2))
        if not peer.poll(100, zmq.POLLOUT): break
        peer.send_multipart(frames)
        while peer.poll(0): peer.recv_multipart()
    peer.close()
    return 500


def large():
    peer = context.socket(zmq.DEALER)
    peer.linger = 100
    peer.connect("ipc://" + door)
    peer.send_multipart(MESSAGES[0])
    for size in (1_048_575, 1_048_576, 1_048_577):
        peer.send_multipart([b"PING", b'{"a":"'.ljust(size - 2, b"a") + b'"}'])
    peer.send_multipart([b"SAMPLES", b"{}"] + [b"x"] * 5_000)
    peer.close()
    return 4


def handshakes():
    for _ in range(50):
        with connection(R.choice(everywhere)) as plug:
            plug.sendall(R.choice((R.randbytes(100), mutated(GREETING + READY), GREETING + mutated(READY), GREETING[:9])))
    return 50


def frames():
    with connection(door) as plug:
        plug.sendall(GREETING + READY)
        while b"READY" not in plug.recv(200): pass
        for _ in range(50):
            verb, body = R.choice(MESSAGES)
            plug.sendall(mutated(bytes([1, len(verb)]) + verb + bytes([0, len(body)]) + body))
        plug.sendall(b"\x02" + struct.pack(">Q", R.choice(((1 << 20) + 1, 1 << 40, (1 << 64) - 1))))
    return 51


def sessions():
    peer = context.socket(zmq.DEALER)
    peer.linger = 0
    peer.connect("ipc://" + door)
    for _ in range(500):
        name = f"h{R.randrange(10**9)}"
        peer.send_multipart([b"HELLO", json.dumps({"protocol": [1], "instance": name, "plugin": name, "version": "1"}).encode()])
    peer.poll(1000)
    peer.close()
    return 500


sent, end = {}, time.monotonic() + seconds
while time.monotonic() < end:
    kind = R.choice((mutants, large, handshakes, frames, sessions))
    try:
        sent[kind.__name__] = sent.get(kind.__name__, 0) + kind()
    except (BrokenPipeError, ConnectionResetError, BlockingIOError, TimeoutError):
        pass  # The hub ended a connection, as it should, or is busy accepting others.
print(json.dumps(sent))
