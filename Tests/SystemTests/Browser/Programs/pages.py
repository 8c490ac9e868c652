"""Checks every page that a real hub serves: pages.py PROGRAMS [--brief] [--verbose]. Prints faults; exit code 1 if there is one.

Each page is shown in light and dark, at three sizes. It must write nothing on the console, violate no policy, send no request to another
place and not scroll sideways. It must obey axe's rules, and those of WCAG 2.2 AA that axe leaves out. Without JavaScript the same pages
must be found, with the same tables. With --brief it checks the first ten pages, with JavaScript.
"""
import sys, time

from browser import Browser, Keys
from checks import faults, focus_faults
from crawl import crawl
from household import household

# A person's records do not change meanwhile, so their tables are compared. Of the hub's own tables only the captions are.
TABLES = """
    const isOfPerson = /^\\/(|data|types.*)$/.test(location.pathname);
    return [...document.querySelectorAll('main table')].map(table => isOfPerson ? table.textContent.replace(/\\s+/g, ' ') : table.caption?.textContent);
"""


# A page with one fault of each kind. Each must be found, because a check that finds nothing may not work.
FAULTY = """
    document.body.insertAdjacentHTML('beforeend', `<h1>Another</h1><button>i</button><input id="a"><input id="a"><table><tr><td>1</td></tr></table>
        <svg width="20" height="20"></svg><p class="pale">pale</p><div class="far">far</div><a href="/login" class="bare">bare</a>`);
    const set = (name, styles) => Object.assign(document.querySelector(name).style, styles);
    set('main ~ button', {minWidth: '0', width: '12px', height: '12px', minHeight: '0', padding: '0'});
    set('.pale', {color: '#999', background: '#aaa'});
    set('.far', {width: '5000px'});
    set('.bare', {outline: 'none'});
"""
FOUND = ["2 h1", "smaller than 24 px", "two elements with the id a", "a table without a caption", "a picture without a title", "color-contrast",
         "scrolls sideways", "label", "style within the page", "the focus does not show"]


def main(programs, brief, verbose):
    found, begin = [], time.monotonic()
    home = household(programs)
    origin = home.origin

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
    browser.open("/login")
    browser.value(FAULTY)
    caught = "\n".join(faults(browser) + focus_faults(browser, Keys))
    found += [f"the checks do not find: {fault}" for fault in FOUND if fault not in caught]
    browser.complaints()
    browser.open(home.link())
    found.extend(f"the log-in: {fault}" for fault in faults(browser) + focus_faults(browser, Keys) + browser.complaints())
    browser.driver.find_element("css selector", "main button").click()
    browser.settle()
    pages = crawl(browser, look, most=10 if brief else None)
    found += browser.faults
    browser.end()
    if not brief:
        compare(home, pages, tables, found, say)
    say("done")
    for fault in found:
        print(fault)
    print(f"{sum(map(len, pages.values()))} pages of {len(pages)} kinds, {len(found)} faults")
    return bool(found) or len(pages) < 3


def compare(home, pages, tables, found, say):
    """Compares the same pages without JavaScript, and as a person with access to only their own values."""
    say("without JavaScript")
    plain = Browser(home.origin, scripts=False)
    plain.log_in(home.link())
    others = {}
    plain_pages = crawl(plain, lambda path, _: others.__setitem__(path, plain.value(TABLES)))
    plain.end()
    if set(pages) != set(plain_pages):
        found.append(f"without JavaScript other pages are found: {sorted(set(pages) ^ set(plain_pages))}")
    for path in sorted(set(tables) & set(others)):
        if tables[path] != others[path]:
            found.append(f"{path}: other tables without JavaScript")

    say("as a person with access to only their own values")
    viewer = Browser(home.origin)
    viewer.log_in(home.link("carl"))

    def look_for_others(path, _):
        wrong = viewer.complaints() + [f"{name} is named" for name in ("anna", "ben") if name in viewer.driver.page_source]
        found.extend(f"{path}, as carl: {fault}" for fault in wrong)

    crawl(viewer, look_for_others)
    for path in sorted({path for paths in pages.values() for path in paths}):
        answer = viewer.value("return fetch(arguments[0]).then(answer => answer.text().then(text => [answer.status, text]))", path)
        if answer[0] == 200 and ("anna" in answer[1] or "bathroom" in answer[1]):
            found.append(f"{path}, as carl: it tells of others")
    viewer.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--brief" in sys.argv, "--verbose" in sys.argv))
