"""Parses markup as a browser does. Reads {"markup": …} per line, and prints for each the tree that html5lib builds by the rules of HTML:
for an element its name, attributes, text and children, and the text after it."""
import json
import sys

import html5lib
from html5lib.constants import namespaces


def words(element):
    name = element.tag if isinstance(element.tag, str) else "#comment"
    yield "<" + name.removeprefix("{" + namespaces["html"] + "}")
    for key, value in sorted((str(key), value) for key, value in element.attrib.items()):
        yield from (key, value)
    yield from (">", element.text or "")
    for child in element:
        yield from words(child)
        yield from ("</", child.tail or "")


for line in sys.stdin:
    print(json.dumps(list(words(html5lib.parse(json.loads(line)["markup"])))))
