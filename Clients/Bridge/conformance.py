#!/usr/bin/env python3
"""The program that Tests/SystemTests/Interop/Programs/clients.py runs with hub bridge: give, follow, sink, or a launched plugin. They only read and write lines."""
import json, os, subprocess, sys
from subprocess import PIPE

HERE = os.path.dirname(os.path.realpath(__file__))


def say(value, file=sys.stdout):
    file.write(json.dumps(value) + "\n")
    file.flush()


def bridge(*words):
    os.execvp("hub", ["hub", "bridge", *words])


def follow(type, place="beginning"):
    changes = subprocess.Popen(["hub", "bridge", "follow", type, "--since", place], stdin=subprocess.DEVNULL, stdout=PIPE)
    for line in map(json.loads, changes.stdout):
        say({"place": line.get("cursor", line.get("restored")), "record": line.get("record")})
    return changes.wait()


def sink(type):
    sink = subprocess.Popen(["hub", "bridge", "sink", "--name", os.environ["HUB_INSTANCE"], type], stdin=PIPE, stdout=PIPE, text=True)
    for line in map(json.loads, sink.stdout):
        say({"record": line["record"]})
        say({"delivery": line["delivery"], "result": "delivered", "receipt": f"line {line['record']['number']}"}, sink.stdin)
    return sink.wait()


def plugin():
    """The program of the launched plugin; --results tells it what became of each record."""
    asked, stored, left = None, 0, 0
    for line in map(json.loads, sys.stdin):
        if "settings" in line:
            label = line["settings"]["label"]
        elif "command" in line:
            asked, stored, left = line["command"], 0, line["args"]["count"]
            for n in range(left):
                say({"type": "weight", "value": 60 + n % 100 / 8, "unit": "kg", "start": "2026-01-05T06:00:00+01:00",
                     "key": f"{label}-{n}"})
        elif "result" in line:
            stored, left = stored + (line["result"] == "stored"), left - 1
            if left == 0:
                say({"command": asked, "outcome": "done", "result": {"stored": stored}})
        elif "stop" in line:
            print("stopped", file=sys.stderr)
            return 0
    return 0


def judge():
    bad = json.load(sys.stdin)["label"] == "bad"
    say({"objections": [{"setting": "label", "reason": "the label is not to be bad"}] if bad else []})
    return 0


what, *arguments = sys.argv[1:]
if what == "lines":
    sys.exit(judge() if arguments else plugin())
if what.startswith("--"):
    bridge("plugin", "--manifest", HERE + "/manifest.json", what, "--results", "--", sys.executable, __file__, "lines")
if what == "give":
    bridge("publish", "--as", os.environ["HUB_INSTANCE"])
sys.exit({"follow": follow, "sink": sink}[what](*arguments))
