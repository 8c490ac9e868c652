"""Plays `hub demo` while a browser reads its pages: demo.py PROGRAMS [SECONDS] [--brief]. Prints faults; exit code 1 if there is one.

The link comes first, and logs the browser in. While the month passes, every page of the hub can be read, with --brief the first
ten. In the end every plugin is well, the account adds up, and the page has the figures of `hub days --json` and `hub stats --json`.
"""
import json, re, sys, time

from browser import Browser
from checks import LAYOUT
from crawl import crawl
from month import Month

PERSONS = ["anna", "ben", "carl"]


def main(programs, seconds, brief, verbose):
    found, pages = [], {}
    month = Month(programs, seconds, verbose)
    link = month.link()
    if any("HUB_CONF" in line or re.match(r"\w+ \d+ \w+", line) for line in month.told):
        found.append(f"the link does not come first: {month.told}")
    browser = Browser(link.split("/login/")[0])
    try:
        browser.log_in(link)
        found += [f"the log-in: {fault}" for fault in browser.complaints()]
        month.until("look: ")

        def look(path, _):
            found.extend(f"{path}: {fault}" for fault in browser.value(LAYOUT) + browser.complaints())

        pages = crawl(browser, look, most=10 if brief else None)
        month.end_of_month(browser.origin)
        found += unwell(month.hub)
        if not any("Every weigh-in is stored once" in line for line in month.told):
            found.append("the account does not add up: " + " ".join(month.told[-40:]))
        found += figures(browser, month.hub)
        found += browser.complaints()
    finally:
        browser.end()
        code = month.close()
    if code != 0:
        found.append(f"hub demo ended with {code}: {month.told[-20:]}")
    for fault in found:
        print(fault)
    print(f"{len(pages)} kinds of pages while the month passed, {len(found)} faults")
    return bool(found)


def unwell(hub, patience=30):
    """Returns the plugins that are not well. A plugin that has just been started gets some time."""
    end = time.monotonic() + patience
    while True:
        plugins = [plugin for plugin in json.loads(hub("status", "--json"))["plugins"] if plugin["enabled"]]
        found = [f"{plugin['name']} is not well: {plugin}" for plugin in plugins if plugin["state"] != "running" or not plugin["alive"]]
        if not found and len(plugins) >= 3:
            return []
        if time.monotonic() > end:
            return found or [f"only {len(plugins)} plugins"]
        time.sleep(0.1)


# The rows of the first table of a chart.
ROWS = """
    return [...document.querySelectorAll('figure table')[0]?.tBodies[0].rows ?? []].map(row =>
        [...row.cells].map(cell => cell.textContent.trim()));
"""


def number(text):
    found = re.search(r"[-−]?\d[\d ,.]*", text)
    return float(found[0].replace("−", "-").replace(",", "")) if found else None


def near(text, value):
    """Returns whether a page's text is the value, rounded to a tenth as people read it."""
    return number(text) is not None and abs(number(text) - value) <= 0.051


def figures(browser, hub):
    """Returns the figures of each person's weight on the page that differ from those of the commands."""
    found = []
    for person in PERSONS:
        ask = lambda: hub("days", "weight", "--person", person, "--from", "2025-03-01", "--json")
        # A new day may begin in the month while the page is read.
        answer, before = ask(), None
        while answer != before:
            before = answer
            browser.open(f"/?person={person}&range=all")
            rows, first = browser.value(ROWS), browser.text()
            answer = ask()
        lines = [json.loads(line) for line in answer.splitlines()]
        days = [(day["value"], day["method"] == "carried") for day in reversed(lines)]
        seen = [(row[1], "carried" in row[2]) for row in rows]
        if len(seen) != min(len(days), len(seen)) or len(seen) < min(len(days), 300):
            found.append(f"{person}: {len(seen)} days on the page, {len(days)} in hub days")
        for place, ((text, isCarried), (value, wasCarried)) in enumerate(zip(seen, days)):
            if not near(text, value) or isCarried != wasCarried:
                found.append(f"{person}: the page says {rows[place]}, and hub days {lines[-1 - place]}")
                break
        latest = json.loads(hub("samples", "weight", "--person", person, "--last", "1", "--json").splitlines()[-1])
        if f"{latest['value']:.1f} kg" not in first:
            found.append(f"{person}: the first page does not say {latest['value']} kg")
        start, end = lines[0]["date"], lines[-1]["date"]
        browser.open(f"/types/weight?person={person}&from={start}&to={end}&by=month")
        rows = [row[1:] for row in browser.value(ROWS)]
        stats = json.loads(hub("stats", "weight", "--person", person, "--by", "month", "--from", start, "--json"))["intervals"]
        months = [one for one in reversed(stats) if one["count"]]
        wanted = [[one["average"], one["minimum"], one["maximum"], one["count"]] for one in months]
        if len(rows) != len(wanted) or not all(near(text, value) for row, month in zip(rows, wanted) for text, value in zip(row, month)):
            found.append(f"{person}: the page's months {rows} are not those of hub stats, {wanted}")
    return found


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    sys.exit(main(words[0], words[1] if len(words) > 1 else "60", "--brief" in sys.argv, "--verbose" in sys.argv))
