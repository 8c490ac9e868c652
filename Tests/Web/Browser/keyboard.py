"""Uses the page with Tab, Enter and letters alone: keyboard.py PROGRAMS. Prints what was not to be done; exit code 1 where anything was not.

A plugin is enabled, and that is taken back: after each the hub is asked whether it is so.
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
        """Presses Tab until what has the focus is called so."""
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
        self.browser.press(Keys.CONTROL + "a" + Keys.NULL, text)

    def says(self, pattern):
        if not re.search(pattern, self.browser.text()):
            raise SystemExit(f"{self.browser.path}: it does not say {pattern}:\n{self.browser.text()[:3000]}")


def enable(keys, home):
    def is_enabled():
        return {plugin["name"]: plugin["enabled"] for plugin in home.json("status")["plugins"]}.get("tables", False)

    assert not is_enabled()
    keys.browser.open("/")
    keys.press("Plugins")
    keys.press("tables")
    keys.press("Enable.*")
    # What the hub would do is shown before it is done.
    assert not is_enabled()
    keys.press("Save")
    home.wait("the plugin", is_enabled)
    keys.press("Undo.*")
    home.wait("the plugin's end", lambda: not is_enabled())


PATHS = [enable]


def main(programs, verbose):
    begin = time.monotonic()
    home = household(programs)
    browser = Browser(f"http://127.0.0.1:{home.port}")
    keys = Keyboard(browser)
    browser.open(home.link())
    # The button has the focus already.
    browser.value("window.isLeft = true")
    browser.press(Keys.ENTER)
    browser.wait("return !window.isLeft && document.readyState === 'complete'")
    keys.to("To the content")
    keys.press("System")
    for path in PATHS:
        path(keys, home)
        if verbose:
            print(f"{time.monotonic() - begin:6.1f} {path.__name__}", file=sys.stderr)
    found = browser.complaints()
    browser.end()
    for fault in found:
        print(fault)
    print(f"{len(found)} faults")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--verbose" in sys.argv))
