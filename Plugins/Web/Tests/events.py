"""Listens to the events of the page like a browser, and connects again after each break with the last id.

    events.py follow PORT TOKEN_FILE --count N [--breaks SEED] [--after CURSOR] [--query QUERY] [--deaf FILE]
    events.py crowd PORT TOKEN_FILE… --streams N

follow prints each event as a line of JSON, {"event","id","data"}, until N records and retractions have come. With --breaks it cuts
its connection now and then. With --deaf it stops reading after its first bytes until FILE exists. crowd opens streams, prints "ready",
and prints the time between the first stream and the last one that received a record.
"""

import argparse
import json
import os
import random
import selectors
import socket
import sys
import time


def connect(port, token, last=None, query="", room=None):
    stream = socket.socket()
    stream.settimeout(5)
    if room:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    stream.connect(("127.0.0.1", port))
    head = f"GET /api/v1/events{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    if last:
        head += f"Last-Event-ID: {last}\r\n"
    stream.sendall((head + "\r\n").encode())
    return stream


class Reader:
    """Parses bytes into events as the standard says, after the chunks of HTTP are removed."""

    def __init__(self):
        self.raw, self.text, self.head = b"", b"", None
        self.last = None

    def feed(self, data):
        self.raw += data
        if self.head is None:
            if b"\r\n\r\n" not in self.raw:
                return
            head, self.raw = self.raw.split(b"\r\n\r\n", 1)
            self.head = head.decode()
            assert " 200 " in self.head.split("\r\n")[0], self.head
            assert "text/event-stream" in self.head
        while b"\r\n" in self.raw:
            size, rest = self.raw.split(b"\r\n", 1)
            length = int(size, 16)
            if len(rest) < length + 2:
                return
            self.text += rest[:length]
            self.raw = rest[length + 2 :]

    def events(self):
        while b"\n\n" in self.text:
            block, self.text = self.text.split(b"\n\n", 1)
            name, data, own = "message", [], None
            for line in block.decode().split("\n"):
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "event":
                    name = value
                elif field == "data":
                    data.append(value)
                elif field == "id":
                    own = self.last = value
            if data:
                yield {"event": name, "id": own, "data": json.loads("\n".join(data))}


def follow(arguments):
    dice = random.Random(arguments.breaks)
    token = open(arguments.token[0]).read().strip()
    last, count = arguments.after, 0
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        reader = Reader()
        left = dice.randint(1, 12) if arguments.breaks is not None else None
        try:
            with connect(arguments.port, token, last, arguments.query, 4096 if arguments.deaf else None) as stream:
                stream.settimeout(20)
                while left is None or left > 0:
                    data = stream.recv(dice.choice([1, 40, 4096]) if left is not None else 65536)
                    if not data:
                        break
                    reader.feed(data)
                    for event in reader.events():
                        print(json.dumps(event, separators=(",", ":")), flush=True)
                        if event["event"] in ("record", "retraction"):
                            count += 1
                            if count == arguments.count:
                                return 0
                        if left is not None:
                            left -= 1
                    last = reader.last or last
                    if reader.head and not arguments.said and reader.last:
                        arguments.said = True
                        print(json.dumps({"event": "ready", "id": last, "data": None}, separators=(",", ":")), flush=True)
                        while arguments.deaf and not os.path.exists(arguments.deaf):
                            time.sleep(0.05)
                last = reader.last or last
        except (OSError, AssertionError) as error:
            last = reader.last or last
            print(f"again: {error}", file=sys.stderr)
            time.sleep(0.05)
    return 1


def crowd(arguments):
    tokens = [open(path).read().strip() for path in arguments.token]
    wait = selectors.DefaultSelector()
    readers = {}
    for number in range(arguments.streams):
        stream = connect(arguments.port, tokens[number % len(tokens)])
        stream.setblocking(False)
        readers[stream] = Reader()
        wait.register(stream, selectors.EVENT_READ)
    heard, said = {}, False
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(heard) < arguments.streams:
        for key, _ in wait.select(1):
            data = key.fileobj.recv(65536)
            now = time.monotonic()
            assert data, "a stream has ended"
            reader = readers[key.fileobj]
            reader.feed(data)
            for event in reader.events():
                assert event["event"] == "record" and key.fileobj not in heard, event
                heard[key.fileobj] = now
        if not said and all(reader.last for reader in readers.values()):
            said = True
            print("ready", flush=True)
            if arguments.idle:
                time.sleep(arguments.idle)
                print("idle is over", flush=True)
    times = sorted(heard.values())
    spread = round((times[-1] - times[0]) * 1000, 2) if times else None
    print(json.dumps({"heard": len(heard), "milliseconds": spread}), flush=True)
    return 0 if len(heard) == arguments.streams else 1


parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["follow", "crowd"])
parser.add_argument("port", type=int)
parser.add_argument("token", nargs="+")
parser.add_argument("--count", type=int)
parser.add_argument("--breaks", type=int)
parser.add_argument("--after")
parser.add_argument("--query", default="")
parser.add_argument("--deaf")
parser.add_argument("--streams", type=int, default=200)
parser.add_argument("--idle", type=float, default=0)
arguments = parser.parse_args()
arguments.said = False
sys.exit(follow(arguments) if arguments.what == "follow" else crowd(arguments))
