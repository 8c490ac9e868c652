"""Uses the page with Tab, Enter and letters alone: keyboard.py PROGRAMS. Prints the steps that failed; exit code 1 if there is one.

It adds a weight, edits it, and undoes both. It assigns a record of the inbox to a person, and undoes that. It enables a plugin. After each
step it checks the result at the hub.
"""
import re, sys, time

from browser import Browser, Keys
from household import household

NAME = """
    const one = document.activeElement;
    const label = one.labels?.length ? one.labels[0].textContent : one.ariaLabel ?? one.textContent;
    return one === document.body ? '' : label.trim().replace(/\\s+/g, ' ');
"""


class Keyboard:
    """A person without a mouse."""

    def __init__(self, browser):
        self.browser = browser

    def to(self, pattern, most=200):
        """Presses Tab until the name of the element with the focus matches."""
        names = [self.browser.value(NAME)]
        for _ in range(most):
            if re.fullmatch(pattern, names[-1]):
                return
            self.browser.press(Keys.TAB)
            names.append(self.browser.value(NAME))
        raise SystemExit(f"{self.browser.path}: with {most} times Tab nothing is called {pattern}; there are {sorted(set(names))}\n{self.browser.text()[:1500]}")

    def press(self, pattern):
        """Goes to a link or a button, and presses Enter; waits for the page that comes."""
        self.to(pattern)
        self.browser.value("window.isLeft = true")
        self.browser.press(Keys.ENTER)
        self.browser.wait("return !window.isLeft && document.readyState === 'complete'")

    def type(self, pattern, text):
        self.to(pattern)
        # The text of the field is selected, as always after Tab.
        self.browser.press(text)

    def says(self, pattern):
        if not re.search(pattern, self.browser.text()):
            raise SystemExit(f"{self.browser.path}: it does not say {pattern}:\n{self.browser.text()[:3000]}")


def weights(home, person):
    # The list omits retracted records.
    return [record["value"] for record in home.lines("samples", "weight", "--person", person, "--last", "3")]


def add_and_edit(keys, home):
    keys.browser.open("/?person=anna")
    keys.press("Add")
    keys.press("Weight")
    keys.type("Weight", "61.4")
    keys.press("Save")
    keys.says("61.4 kg.* saved")
    number = home.lines("samples", "weight", "--person", "anna", "--last", "1")[0]["number"]
    assert 61.4 in weights(home, "anna"), weights(home, "anna")
    keys.browser.open(f"/records/{number}")
    keys.press("Edit")
    keys.type("Weight", "61.2")
    keys.press("Save")
    assert 61.2 in weights(home, "anna") and 61.4 not in weights(home, "anna"), weights(home, "anna")
    keys.press("Undo.*")
    assert 61.4 in weights(home, "anna"), weights(home, "anna")
    keys.browser.open(f"/records/{number}")
    keys.press("Delete")
    keys.press("Delete.*")
    assert 61.4 not in weights(home, "anna"), weights(home, "anna")
    keys.press("Undo|Bring it back")
    assert 61.4 in weights(home, "anna"), weights(home, "anna")


def assign(keys, home):
    before = len(home.lines("inbox"))
    keys.browser.open("/")
    keys.press("Inbox.*")
    # Skip the links to each person's values.
    keys.to("Log out")
    keys.press("carl.*")
    keys.says("now carl's")
    assert len(home.lines("inbox")) == before - 1
    keys.press("Undo")
    assert len(home.lines("inbox")) == before


def enable(keys, home):
    def is_enabled():
        return {plugin["name"]: plugin["enabled"] for plugin in home.json("status")["plugins"]}.get("tables", False)

    assert not is_enabled()
    keys.browser.open("/")
    keys.press("Plugins")
    keys.press("tables")
    keys.press("Enable.*")
    # The page shows the planned change before it is made.
    assert not is_enabled()
    keys.press("Save")
    home.wait("the plugin", is_enabled)
    keys.press("Undo.*")
    home.wait("the plugin's end", lambda: not is_enabled())


# By the page at which each begins.
PATHS = {"Add": add_and_edit, "Inbox": assign, "Plugins": enable}


def main(programs, verbose):
    begin = time.monotonic()
    home = household(programs)
    browser = Browser(home.origin)
    keys = Keyboard(browser)
    browser.open(home.link())
    # The button has the focus already.
    browser.value("window.isLeft = true")
    browser.press(Keys.ENTER)
    browser.wait("return !window.isLeft && document.readyState === 'complete'")
    keys.to("To the content")
    keys.press("System")
    pages = browser.value("return [...document.querySelectorAll('nav a')].map(link => link.textContent.trim())")
    missing = [page for page in PATHS if page not in pages]
    for page in [page for page in PATHS if page in pages]:
        PATHS[page](keys, home)
        if verbose:
            print(f"{time.monotonic() - begin:6.1f} {PATHS[page].__name__}", file=sys.stderr)
    found = [f"the menu lacks {page}" for page in missing] + browser.complaints()
    browser.end()
    for fault in found:
        print(fault)
    print(f"from {', '.join(PATHS)}, {len(found)} faults")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--verbose" in sys.argv))
