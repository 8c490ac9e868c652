#!/usr/bin/env python3
"""A sink without faults: one line for each record, under its number, so that a record delivered twice is there once."""
import json, os, sys, zmq

MANIFEST = {
    "name": "lines", "summary": "Writes weights into a file.", "version": "1.0", "reads": ["weight"], "sink": {},
    "settings": [{"name": "file", "type": "path", "required": True, "access": "write", "help": "Where the lines go."}]}


def run():
    token = sys.stdin.readline().strip()
    door = zmq.Context().socket(zmq.DEALER)
    door.plain_username, door.plain_password = os.environ["HUB_INSTANCE"].encode(), token.encode()
    door.linger = 1000
    door.connect(os.environ["HUB_DOOR"])
    credit = {"records": 100, "bytes": 1048576}
    hello = {"protocol": [1], "instance": os.environ["HUB_INSTANCE"], "plugin": "lines", "version": "1.0"}
    heartbeat = {"interval": 1000}

    def say(verb, body):
        door.send_multipart([verb.encode(), json.dumps(body).encode()])

    def deliver(record, path):
        lines = dict(line.split(" ", 1) for line in open(path)) if os.path.exists(path) else {}
        lines[str(record["number"])] = str(record.get("value")) + "\n"
        with open(path, "w") as file:
            file.writelines(f"{number} {line}" for number, line in lines.items())
        return {"result": "delivered"}

    say("HELLO", hello)
    poller = zmq.Poller()
    poller.register(door, zmq.POLLIN)
    poller.register(0, zmq.POLLIN)
    silence = 0
    while True:
        events = dict(poller.poll(heartbeat["interval"]))
        if 0 in events and not os.read(0, 1):
            break
        if door not in events:
            silence += 1
            say("HELLO", hello) if silence > 3 else say("PING", {})
            continue
        silence = 0
        verb, text = door.recv_multipart()
        body = json.loads(text)
        if verb == b"WELCOME":
            settings, heartbeat = body["settings"], body["heartbeat"]
            say("WANT", {"want": "weights", "types": ["weight"], "start": "beginning", "credit": credit})
        elif verb == b"DELIVER":
            results = [deliver(record, settings["file"]) for record in body["records"]]
            used = {"records": len(results), "bytes": len(text)}
            say("DONE", {"want": body["want"], "delivery": body["delivery"], "results": results, "credit": used})
        elif verb == b"PING":
            door.send_multipart([b"PONG", text])
        elif verb == b"STOP":
            break
        elif verb == b"ERROR" and body["code"] == "hello-first":
            say("HELLO", hello)
        elif verb == b"ERROR":
            sys.exit(77)
    say("BYE", {})


if sys.argv[1:] == ["--describe"]:
    print(json.dumps(MANIFEST))
elif sys.argv[1:] == ["--run"]:
    run()
else:
    sys.exit(64)
