"""Parses TOML documents from stdin with Python's own reader. A line with its length in bytes precedes each document.
Prints a line for each: its values with their types in the form of the public conformance suite, or null if it is not TOML."""
import datetime, json, sys, tomllib

def tagged(value):
    match value:
        case bool(): return {"type": "bool", "value": str(value).lower()}
        case int(): return {"type": "integer", "value": str(value)}
        case float(): return {"type": "float", "value": repr(value)}
        case str(): return {"type": "string", "value": value}
        case list(): return [tagged(element) for element in value]
        case dict(): return {key: tagged(element) for key, element in value.items()}
        case datetime.datetime():
            return {"type": "datetime" if value.tzinfo else "datetime-local", "value": value.isoformat()}
        case datetime.date(): return {"type": "date-local", "value": value.isoformat()}
        case datetime.time(): return {"type": "time-local", "value": value.isoformat()}

while length := sys.stdin.buffer.readline():
    document = sys.stdin.buffer.read(int(length))
    try: answer = tagged(tomllib.loads(document.decode()))
    except ValueError: answer = None                 # raised for TOMLDecodeError and for text that is not UTF-8
    print(json.dumps(answer))
