#!/usr/bin/env python3
"""The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query, calls, or a launched plugin."""
import json
import os
import sys
from itertools import islice

from health_hub import Hub, HubError, Pause, plugin

MANIFEST = {
    "name": "conformance-python", "summary": "Gives weights when it is asked to.", "version": "1.0", "protocol": [1],
    "writes": ["weight"], "checksSettings": True,
    "settings": [{"name": "label", "type": "string", "required": True, "help": "Begins the key of each record."}],
    "commands": [{"name": "add", "help": "Gives weights.", "args": [
        {"name": "count", "type": "integer", "minimum": 1, "maximum": 1000000, "required": True, "help": "How many."}]}],
}


def say(value):
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def objections(settings):
    return [{"setting": "label", "reason": "the label is not to be bad"}] if settings["label"] == "bad" else []


def run(hub):
    def add(command):
        label = hub.welcome["settings"]["label"]
        results = hub.give({"type": "weight", "value": 60 + n % 100 / 8, "unit": "kg", "start": "2026-01-05T06:00:00+01:00",
                            "key": f"{label}-{n}"} for n in range(command.args["count"]))
        return {"stored": sum(result["result"] == "stored" for result in results)}

    if hub.welcome["settings"]["label"] == "gone":
        sys.exit(69)
    hub.command("add", add)
    hub.serve()
    print("stopped", file=sys.stderr, flush=True)


def main(what, *arguments):
    with Hub(spool=arguments[0] if what in ("keep", "flush") else None) as hub:
        if what == "give":
            while given := [json.loads(line) for line in islice(sys.stdin, int(arguments[0]))]:
                for record, result in zip(given, hub.give(given)):
                    say({"key": record["key"], **result})
                sys.stdout.flush()
        elif what == "keep":
            for line in sys.stdin:
                if line.strip():
                    hub.keep([json.loads(line)])
                    say({"kept": len(hub.spool)})
                    sys.stdout.flush()
            hub.serve()
        elif what == "flush":
            hub.flush()
        elif what == "follow":
            for change in hub.follow([arguments[0]], arguments[1] if len(arguments) > 1 else None):
                say({"place": change.place, "record": change.record})
                sys.stdout.flush()
        elif what == "sink":
            def deliver(delivered):
                if len(arguments) > 1:
                    say({"paused": len(delivered)})
                    sys.stdout.flush()
                    raise Pause(float(arguments[1]), "the target is away")
                for record in delivered:
                    say({"record": record})
                sys.stdout.flush()
                return [{"result": "delivered", "receipt": f"line {record['number']}"} for record in delivered]

            hub.sink({"want": "all", "types": [arguments[0]], "start": "beginning"}, deliver)
            hub.serve()
        elif what == "query":
            question = json.loads(arguments[0])
            ask = hub.statistics if question.pop("want") == "statistics" else hub.records
            for answer in ask(**question):
                say(answer)
        elif what == "calls":
            for name, body in json.loads(arguments[0]):
                try:
                    say({"answer": getattr(hub, name)(body)})
                except HubError as error:
                    say({"error": error.code})
                sys.stdout.flush()


if sys.argv[1:2] and sys.argv[1].startswith("--"):
    sys.exit(plugin(MANIFEST, run, objections))
try:
    main(*sys.argv[1:])
except HubError as error:
    print(error, file=sys.stderr)
    sys.exit(76 if error.code == "protocol" else 77)
except BrokenPipeError:
    os._exit(0)
