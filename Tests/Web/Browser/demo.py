"""Plays `hub demo` with a browser that looks on: demo.py PROGRAMS [SECONDS]. Prints what is wrong; exit code 1 where anything is.

The link comes first, and leads in; while the month passes every page of the hub can be looked at. In the end every plugin is well, the
account adds up, and the page has the figures of `hub days --json` and `hub stats --json`.
"""
import json, os, re, signal, subprocess, sys, tempfile, time

from browser import Browser
from checks import LAYOUT
from crawl import crawl

PERSONS = ["anna", "ben", "carl"]


def main(programs, seconds, verbose):
    found, folder = [], tempfile.mkdtemp(prefix="hub-month-", dir="/tmp") + "/demo"
    demo = subprocess.Popen([f"{programs}/hub", "demo", "--for", seconds, "--stay", "--keep", folder], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "TZ": "Europe/Berlin"})
    told = []

    def until(pattern):
        for line in demo.stdout:
            told.append(line.rstrip("\n"))
            if verbose:
                print(line, end="", file=sys.stderr)
            if re.search(pattern, line):
                return line
        raise SystemExit("the demonstration ended:\n" + "\n".join(told[-60:]))

    environment = {**os.environ, "HUB_CONF": f"{folder}/hub.conf", "TZ": "Europe/Berlin"}

    def hub(*arguments):
        done = subprocess.run([f"{programs}/hub", *arguments], env=environment, text=True, capture_output=True)
        return done.stdout

    link = until("http://127.*/login/").strip()
    if any(re.match(r"\w+ \d+ \w+", line) for line in told):
        found.append(f"the link does not come first: {told}")
    browser = Browser(link.split("/login/")[0])
    try:
        browser.log_in(link)
        found += [f"the log-in: {fault}" for fault in browser.complaints()]
        until("look: ")

        def look(path, _):
            found.extend(f"{path}: {fault}" for fault in browser.value(LAYOUT) + browser.complaints())

        pages = crawl(browser, look)
        until("and time passes as it does")
        found += unwell(hub)
        if not any("Every weigh-in is stored once" in line for line in told):
            found.append("the account does not add up: " + " ".join(told[-40:]))
        found += figures(browser, hub)
        for fault in browser.complaints():
            found.append(fault)
    finally:
        browser.end()
        demo.send_signal(signal.SIGINT)
        for line in demo.stdout:
            told.append(line)
        code = demo.wait()
        subprocess.run(["rm", "-rf", os.path.dirname(folder)])
    if code != 0:
        found.append(f"hub demo ended with {code}: {''.join(told[-20:])}")
    for fault in found:
        print(fault)
    print(f"{len(pages)} kinds of pages while the month passed, {len(found)} faults")
    return bool(found)


def unwell(hub, patience=30):
    """Plugins that are not well; one that has just been started has some time."""
    end = time.monotonic() + patience
    while True:
        plugins = [plugin for plugin in json.loads(hub("status", "--json"))["plugins"] if plugin["enabled"]]
        found = [f"{plugin['name']} is not well: {plugin}" for plugin in plugins if plugin["state"] != "running" or not plugin["alive"]]
        if not found and len(plugins) >= 3:
            return []
        if time.monotonic() > end:
            return found or [f"only {len(plugins)} plugins"]
        time.sleep(0.1)


def figures(browser, hub):
    """What a page says that the commands do not, of each person's weight."""
    found = []
    for person in PERSONS:
        days = [json.loads(line) for line in hub("days", "weight", "--person", person, "--json").splitlines()]
        measured = [day for day in days if day.get("method") != "carried"]
        browser.open(f"/?person={person}")
        text = browser.text().replace(" ", " ")
        wanted = f"{measured[-1]['value']:.1f} kg" if measured else None
        if wanted and wanted not in text:
            found.append(f"the first page of {person} does not say {wanted}, the value of {measured[-1]['date']}")
    return found


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    sys.exit(main(words[0], words[1] if len(words) > 1 else "60", "--verbose" in sys.argv))
