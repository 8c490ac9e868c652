"""A stranger on another machine: stranger.py try|replay|idle HOST DOOR FEED, keys in KEY (a file of hub keys new).

Prints a line for each fact that the hub reveals to a stranger, which must be none, and a last line `done`.
"""
import json, os, random, socket, sys, threading, time, zmq

what, host, door, feed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
key = json.load(open(os.environ["KEY"]))
context = zmq.Context()
HELLO = [b"HELLO", json.dumps({"protocol": [1], "instance": key["instance"], "plugin": "example-source", "version": "1"}).encode()]
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01"


def keyed(plug, pair):
    plug.curve_serverkey = key["serverKey"].encode()
    plug.curve_publickey, plug.curve_secretkey = pair
    return plug


def plug(kind, guise):
    plug = context.socket(kind)
    plug.linger = 0
    if guise == "plain":
        plug.plain_username, plug.plain_password = key["instance"].encode(), b"guess"
    if guise == "own key":
        keyed(plug, zmq.curve_keypair())
    if guise == "wrong hub":
        keyed(plug, (key["publicKey"].encode(), key["secretKey"].encode()))
        plug.curve_serverkey = zmq.curve_keypair()[0]
    return plug


def answer(data, port):
    """Sends the bytes on a new connection and returns the answer, until the connection is ended or silent."""
    heard = b""
    with socket.create_connection((host, port), 5) as wire:
        wire.settimeout(1)
        try:
            for piece in data:
                wire.sendall(piece)
                time.sleep(0.05)
            while part := wire.recv(65536):
                heard += part
        except (TimeoutError, OSError):
            pass
    return heard


def tell(name, heard):
    # The greeting, and the one command that CURVE answers to every peer: at most 64 and 170 bytes, all of them keys.
    if len(heard) > 64 + 170 or any(word in heard for word in (b"protocol", b"sample", b"weight", b"hub/")):
        print(name, "was told", heard[64:], flush=True)


if what == "try":
    plugs = []
    for guise in ("nothing", "plain", "own key", "wrong hub"):
        for kind, port in ((zmq.DEALER, door), (zmq.SUB, feed), (zmq.SUB, door), (zmq.DEALER, feed)):
            one = plug(kind, guise)
            one.connect(f"tcp://{host}:{port}")
            if kind == zmq.SUB:
                one.subscribe(b"")
            else:
                one.send_multipart(HELLO)
                one.send_multipart([b"QUERY", b'{"id":1,"want":"records"}'])
            plugs.append((guise, one))
    R = random.Random(7)
    for mechanism in (b"NULL", b"PLAIN", b"CURVE", b"XXXX"):
        greeting = GREETING + mechanism.ljust(20, b"\0") + bytes(32)
        for port in (door, feed):
            for rest in (b"", b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER", b"\x04\xc8\x05HELLO" + R.randbytes(194), R.randbytes(500)):
                tell(mechanism, answer([greeting, rest], port))
    for port in (door, feed):
        tell("GET", answer([b"GET / HTTP/1.1\r\nHost: hub\r\n\r\n"], port))
        tell("noise", answer([R.randbytes(10_000)], port))
    end = time.monotonic() + 2
    while time.monotonic() < end:
        for guise, one in plugs:
            if one.poll(10):
                print(guise, "was told", one.recv_multipart(), flush=True)

if what == "replay":
    said, heard, listener = [], [], socket.create_server(("127.0.0.1", 0))

    def pump(source, sink, notes):
        while part := source.recv(65536):
            notes.append(part)
            sink.sendall(part)

    def relay():
        near, far = listener.accept()[0], socket.create_connection((host, door))
        threading.Thread(target=pump, args=(far, near, heard), daemon=True).start()
        pump(near, far, said)

    threading.Thread(target=relay, daemon=True).start()
    owner = keyed(context.socket(zmq.DEALER), (key["publicKey"].encode(), key["secretKey"].encode()))
    owner.connect(f"tcp://127.0.0.1:{listener.getsockname()[1]}")
    owner.send_multipart(HELLO)
    verb = owner.recv_multipart()[0]
    assert verb == b"WELCOME", verb
    for secret in (b"HELLO\0", b"example-source", b"WELCOME{", b"grants"):
        if secret in b"".join(said) or secret in b"".join(heard):
            print("an eavesdropper was told", secret, flush=True)
    tell("a replay", answer(said, door))
    tell("a replay at once", answer([b"".join(said)], door))

if what == "idle":
    wires = [socket.create_connection((host, port), 5) for port in (door, feed) for _ in range(100)]
    print("holding", flush=True)
    closed, end = 0, time.monotonic() + 40
    for wire in wires:
        wire.settimeout(max(0.1, end - time.monotonic()))
        try:
            while wire.recv(65536):
                pass
            closed += 1
        except ConnectionError:
            closed += 1
        except TimeoutError:
            pass
    print("closed", closed, flush=True)

print("done", flush=True)
