# Validates JSON by the schemas of Docs/Schemas. Usage: validate.py FOLDER
# Reads one question per line, as JSON: {"schema": "client/HELLO.json#/$defs/x", "text": "…", "closed": true}.
# Prints one line per question: a JSON array of faults, empty if the text is valid. Without "text" the schema itself is validated by its metaschema.
# Closed: members that the schema does not list are faults too, except if the schema allows other members explicitly.
import json
import os
import sys

from jsonschema import Draft202012Validator


def schemas(folder):
    """Bundles all files into one schema, because every version of the library resolves references within one schema."""
    files = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(place, name), folder)
            with open(os.path.join(place, name), encoding="utf-8") as file:
                files[path] = json.load(file)
    return files


def address(target, path):
    file, _, pointer = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
    return "#/$defs/" + file.replace("/", ":") + pointer


def bundled(value, path, closed):
    if isinstance(value, list):
        return [bundled(item, path, closed) for item in value]
    if not isinstance(value, dict):
        return value
    result = {name: bundled(item, path, closed) for name, item in value.items() if name != "$schema"}
    if isinstance(value.get("$ref"), str):
        result["$ref"] = address(value["$ref"], path)
    isObject = value.get("type") == "object" and "properties" in value
    if closed and isObject and "additionalProperties" not in value:
        result["unevaluatedProperties"] = False
    return result


files = schemas(sys.argv[1])
bundles = {
    closed: {path.replace("/", ":"): bundled(schema, path, closed) for path, schema in files.items()}
    for closed in (False, True)
}
validators = {}


def refuse(name):
    raise ValueError(f"{name} is not JSON")


def judge(question):
    if "text" not in question:
        faults = Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(files[question["schema"]])
    else:
        key = (question["schema"], question["closed"])
        if key not in validators:
            schema = {"$ref": address(key[0], ""), "$defs": bundles[key[1]]}
            validators[key] = Draft202012Validator(schema)
        try:
            faults = validators[key].iter_errors(json.loads(question["text"], parse_constant=refuse))
        except ValueError as error:
            return [str(error)]
    return [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message[:300]}" for fault in faults]


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))), flush=True)
