#!/usr/bin/env python3
"""The plugin @NAME@ of a health hub: gives @TYPE@ from a text file. README.md describes the file.

The program keeps no state between starts: the hub answers `duplicate` for records that it already has.
"""
import glob
import os
@quantity|import re
import site
import sys

# The packages of requirements.txt, in a virtual environment or a folder beside this program.
for packages in ["venv/lib/python3*/site-packages", "vendor"]:
    for found in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), packages)):
        site.addsitedir(found)

from health_hub import plugin  # noqa: E402

MANIFEST = {
    "name": "@NAME@", "summary": "Gives @TYPE@ from a text file.", "version": "1.0", "writes": ["@TYPE@"],
    "checksSettings": True,
    "settings": [
        {"name": "file", "type": "path", "required": True, "help": "The readings, a line for each: @LINE@."},
        {"name": "every", "type": "integer", "minimum": 1, "maximum": 3600, "default": 5,
         "help": "Seconds from one look at the file to the next."},
    ],
}


def log(text):
    """Never log a person's values."""
    print(text, file=sys.stderr, flush=True)


def objections(settings):
    if os.path.isdir(settings["file"]):
        return [{"setting": "file", "reason": "this is a folder; name the file with the readings"}]
    return []


def record(line):
    """The record of a line. Its key is its time, so a line that is read again is the same record."""
    start, *end, value = line.split()
@quantity|    if not re.fullmatch(r"-?[0-9]{1,15}([.][0-9]{1,15})?", value):
@quantity|        raise ValueError("no number")
@quantity|    made = {"type": "@TYPE@", "value": float(value), "unit": "@UNIT@", "start": start, "key": start}
@category|    made = {"type": "@TYPE@", "value": value, "start": start, "key": start}
    if end:
        made["end"], = end
    return made


def look(path, place):
    """Records of the file behind byte `place`, and the place to continue from: the whole lines of the next 64 KiB."""
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        return [], 0
    with file:
        if os.fstat(file.fileno()).st_size < place:
            place = 0  # the file was rewritten from its beginning
        file.seek(place)
        data = file.read(65536)
    size = data.rfind(b"\n") + 1  # an unfinished line waits
    if size == 0 and len(data) == 65536:
        size = len(data)  # never a reading
    records, start = [], place
    for line in data[:size].splitlines(keepends=True):
        try:
            if line.strip():
                records.append(record(line.decode(errors="replace").rstrip("\r\n")))
        except ValueError:
            log(f"the line at byte {start} is left out: it is not a reading")
        start += len(line)
    return records, place + size


def run(hub):
    settings, place = hub.welcome["settings"], 0
    pause = 0
    while hub.serve(pause):
        records, next_place = look(settings["file"], place)
        for given, result in zip(records, hub.give(records)):  # returns when the hub has them on its disk
            if result["result"] == "rejected":
                log(f"{given['key']}: {result['reason']}")
        pause = 0 if next_place != place else settings["every"]
        place = next_place


sys.exit(plugin(MANIFEST, run, objections))
