#!/usr/bin/env python3
"""The plugin @NAME@ of a health hub: writes each record of the type @TYPE@ into a file. README.md says how.

The program keeps no state: the hub knows which records were delivered, and repeats those without an answer.
"""
import glob
import hashlib
import json
import os
import site
import sys

# The packages of requirements.txt, in a virtual environment or a folder beside this program.
for packages in ["venv/lib/python3*/site-packages", "vendor"]:
    for found in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), packages)):
        site.addsitedir(found)

from health_hub import Pause, plugin  # noqa: E402

MANIFEST = {
    "name": "@NAME@", "summary": "Writes records of @TYPE@ into a folder.", "version": "1.0",
    "reads": ["@TYPE@"], "sink": {},
    "settings": [
        {"name": "folder", "type": "path", "required": True, "access": "folder",
         "help": "The folder of the records, a file of one line for each."},
    ],
}


def log(text):
    """Never log a person's values."""
    print(text, file=sys.stderr, flush=True)


def file_of(record):
    """The file's name, made from the record's identity: the same for all its versions and its retraction."""
    source = record["source"]
    identity = [source["plugin"], source.get("device", ""), source.get("account", ""), record["key"]]
    return hashlib.sha256("\n".join(identity).encode()).hexdigest()[:32] + ".json"


def store(folder, record):
    """Writes the record into the folder, or removes it for a retraction; a repetition changes nothing."""
    path = os.path.join(folder, file_of(record))
    if record["kind"] == "retraction":
        if os.path.exists(path):
            os.remove(path)
        return
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def sync(folder):
    """Returns when the names in the folder are on the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def run(hub):
    folder = hub.welcome["settings"]["folder"]

    def deliver(records):
        try:
            for record in records:
                store(folder, record)
            sync(folder)
        except OSError as error:
            log(f"{folder}: {error.strerror}")
            raise Pause(60, error.strerror)  # the hub pauses the subscription, then repeats these records
        return [{"result": "delivered"} for _ in records]

    hub.sink({"want": "records", "types": ["@TYPE@"], "start": "beginning"}, deliver)
    hub.serve()


sys.exit(plugin(MANIFEST, run))
