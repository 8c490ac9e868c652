"""Goes through every page that a real hub serves: pages.py PROGRAMS [--verbose]. Prints what is wrong; exit code 1 where anything is.

Each page, light and dark, at three sizes: nothing on the console, nothing that the policy kept away, no request to another place,
no scrolling sideways, axe's rules, and those of WCAG 2.2 AA that axe leaves out. Without JavaScript the same pages are found, with the
same tables.
"""
import sys, time

from browser import Browser, Keys
from checks import faults, focus_faults
from crawl import crawl
from household import household

TABLES = """
    return [...document.querySelectorAll('main table')].map(table => [...table.rows].map(row =>
        [...row.cells].map(cell => cell.textContent.trim().replace(/\\s+/g, ' ')).join(' | ')));
"""


def main(programs, verbose):
    found, begin = [], time.monotonic()
    home = household(programs)
    origin = f"http://127.0.0.1:{home.port}"

    def say(text):
        if verbose:
            print(f"{time.monotonic() - begin:6.1f} {text}", file=sys.stderr)

    say("the household is there")
    browser = Browser(origin)
    tables = {}

    def look(path, is_first):
        tables[path] = browser.value(TABLES)
        wrong = faults(browser, brief=not is_first) + (focus_faults(browser, Keys) if is_first else []) + browser.complaints()
        found.extend(f"{path}: {fault}" for fault in wrong)
        say(f"{path} {browser.driver.title}: {len(wrong)} faults")

    for path in ["/login", "/nothing"]:
        browser.open(path)
        wrong = faults(browser) + browser.complaints(wrong_status_is_meant=True)
        found.extend(f"{path}: {fault}" for fault in wrong)
    browser.open(home.link())
    found.extend(f"the log-in: {fault}" for fault in faults(browser) + focus_faults(browser, Keys) + browser.complaints())
    browser.driver.find_element("css selector", "main button").click()
    browser.settle()
    pages = crawl(browser, look)
    found += browser.faults
    browser.end()

    say("without JavaScript")
    plain = Browser(origin, scripts=False)
    plain.log_in(home.link())
    others = {}
    plain_pages = crawl(plain, lambda path, _: others.__setitem__(path, plain.value(TABLES)))
    plain.end()
    if set(pages) != set(plain_pages):
        found.append(f"without JavaScript other pages are found: {sorted(set(pages) ^ set(plain_pages))}")
    for path in sorted(set(tables) & set(others)):
        if [len(table) for table in tables[path]] != [len(table) for table in others[path]]:
            found.append(f"{path}: other tables without JavaScript")
    say("done")
    for fault in found:
        print(fault)
    print(f"{sum(map(len, pages.values()))} pages of {len(pages)} kinds, {len(found)} faults")
    return bool(found) or len(pages) < 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--verbose" in sys.argv))
