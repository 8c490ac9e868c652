"""Finds the pages of a site by following its links from the first one: each kind of page, not each of its thousands of addresses."""
import re
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

# The number of pages of a kind with many, such as those of types; of other kinds one page is visited.
OF_A_KIND = {"/types/NAME": 4, "/plugins/NAME": 3, "/records/NUMBER": 2}
MOST = 100
# In an address, these words are followed by a name, of which there are many.
MANY = ("types", "plugins", "devices", "sinks", "deliveries", "persons", "sources")


def kind(path):
    """The address without names, numbers and dates."""
    words = [re.sub(r"^\d+$", "NUMBER", re.sub(r"^\d{4}-\d\d(-\d\d)?.*$", "DATE", word)) for word in urlsplit(path).path.split("/")]
    for place in range(2, len(words)):
        if words[place - 1] in MANY and words[place] != "new":
            words[place] = "NAME"
    return "/".join(words)


def features(path):
    """Yields the features in which addresses of one kind differ: parameters, and the values of those with few choices."""
    for name, value in parse_qsl(urlsplit(path).query):
        if name != "person":
            isChoice = re.fullmatch(r"[a-z]{2,10}|\d{1,2}[a-z]", value) and name in ("by", "range", "span", "view", "show", "level", "state", "kind", "tab")
            yield f"{kind(path)}?{name}" + (f"={value}" if isChoice else "")


LINKS = """
    const forms = [...document.querySelectorAll('form')].filter(form => form.method === 'get' && form.action.startsWith('http'))
        .map(form => form.action.split('?')[0] + '?' + new URLSearchParams(new FormData(form)));
    return [[...document.querySelectorAll('a[href]')].filter(link => !link.hasAttribute('download')).map(link => link.href), forms];
"""


def crawl(browser, look, start="/", most=None):
    """Calls `look(path, isFirst)` with the browser at each page, where `isFirst` says that its kind was not seen often enough.

    - Parameter most: the number of pages after which it ends; all of them if there is none.
    - Returns: the kinds and features that there are, each with the addresses that were looked at for it.
    """
    seen, waiting, known = {}, [start], {start}
    while waiting and (most is None or sum(map(len, seen.values())) < most):
        path = waiting.pop(0)
        isFirst = len(seen.get(kind(path), [])) < OF_A_KIND.get(kind(path), 1)
        new = [feature for feature in features(path) if feature not in seen]
        if not isFirst and not new:
            continue
        if isFirst:
            seen.setdefault(kind(path), []).append(path)
        for feature in new:
            seen[feature] = [path]
        if sum(map(len, seen.values())) > MOST:
            raise SystemExit(f"more than {MOST} pages; the kinds: {sorted(seen)}")
        browser.open(path)
        look(path, isFirst)
        links, forms = browser.value(LINKS)
        for address in links + forms:
            address = urldefrag(urljoin(browser.origin + path, address))[0]
            if not address.startswith(browser.origin + "/"):
                browser.faults.append(f"{path}: a link to another place: {address}")
                continue
            address = address[len(browser.origin):]
            if address not in known and not address.startswith(("/assets/", "/api/", "/metrics", "/login")):
                known.add(address)
                waiting.append(address)
    return seen
