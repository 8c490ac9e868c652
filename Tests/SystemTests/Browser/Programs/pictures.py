"""Makes the pictures of the documents: pictures.py PROGRAMS FOLDER. They show the hub of `hub demo` in a browser, at the end of its month."""
import base64, io, os, sys

from PIL import Image

from browser import Browser
from month import Month

# Name, address, scheme and size.
PICTURES = [
    ("today", "/?person=anna", "light", (1280, 800)), ("today-dark", "/?person=anna", "dark", (1280, 800)),
    ("phone", "/?person=anna", "light", (390, 844)), ("all-data", "/data?person=anna", "light", (1280, 800)),
    ("plugins", "/plugins", "light", (1280, 800)), ("inbox", "/inbox", "light", (1280, 800)),
    ("devices", "/devices", "light", (1280, 800)),
]
MOST = 150_000


def packed(png):
    """Returns the picture with a palette of 256 colours, if that is smaller; the eye sees no difference."""
    file = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def main(programs, folder):
    os.makedirs(folder, exist_ok=True)
    month = Month(programs, "60", verbose=True)
    link = month.link()
    browser = Browser(link.split("/login/")[0])
    try:
        browser.log_in(link)
        month.end_of_month(browser.origin)
        browser.command("Emulation.setScrollbarsHidden", hidden=True)
        browser.complaints()  # While the month passed, the page may have been restarted, which cuts its stream of events.
        for name, path, scheme, size in PICTURES:
            browser.show(size, scheme)
            browser.open(path)
            wrong = browser.complaints()
            if wrong:
                raise SystemExit(f"{path}: {wrong}")
            shot = base64.b64decode(browser.command("Page.captureScreenshot", format="png")["data"])
            picture = min([shot, packed(shot)], key=len)
            if len(picture) > MOST:
                raise SystemExit(f"{name}.png would have {len(picture)} bytes, more than {MOST}")
            with open(f"{folder}/{name}.png", "wb") as file:
                file.write(picture)
            print(f"{folder}/{name}.png: {len(picture)} bytes")
    finally:
        browser.end()
        month.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
