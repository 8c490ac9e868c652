"""Makes the pictures of the documents: pictures.py PROGRAMS FOLDER. They are what a browser shows of the hub of `hub demo`, at the end of its month."""
import base64, os, struct, sys, zlib

from browser import Browser
from month import Month

# Name, address, scheme and size.
PICTURES = [
    ("today", "/?person=anna", "light", (1280, 800)), ("today-dark", "/?person=anna", "dark", (1280, 800)),
    ("phone", "/?person=anna", "light", (390, 844)), ("all-data", "/data?person=anna", "light", (1280, 800)),
    ("plugins", "/plugins", "light", (1280, 800)),
]
MOST = 150_000


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(png):
    """The same picture in fewer bytes: packed as well as can be, and with a palette where it has few colours."""
    place, parts, header = 8, b"", None
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        data = png[place + 8:place + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", data)
        if kind == b"IDAT":
            parts += data
        place += length + 12
    width, height, depth, colour, *_ = header
    size = {2: 3, 6: 4}[colour]
    rows, previous, raw = [], bytearray(width * size), zlib.decompress(parts)
    for row in range(height):
        start = row * (width * size + 1)
        line = bytearray(raw[start + 1:start + 1 + width * size])
        undo(raw[start], line, previous, size)
        rows.append(line)
        previous = line
    pixels = [[bytes(line[at:at + 3]) for at in range(0, len(line), size)] for line in rows]
    count = {}
    for line in pixels:
        for pixel in line:
            count[pixel] = count.get(pixel, 0) + 1
    palette = sorted(count, key=count.get, reverse=True)[:256]
    places = {pixel: place for place, pixel in enumerate(palette)}
    for pixel in count:
        if pixel not in places:
            # The edges of letters: what is nearest does not differ for the eye.
            places[pixel] = min(range(len(palette)), key=lambda place: sum((a - b) ** 2 for a, b in zip(palette[place], pixel)))
    data = b"".join(b"\0" + bytes(places[pixel] for pixel in line) for line in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


def undo(kind, line, above, size):
    """Takes back the filter of a line of a PNG."""
    for at in range(len(line)):
        left, up = line[at - size] if at >= size else 0, above[at]
        corner = above[at - size] if at >= size else 0
        if kind == 1:
            line[at] = line[at] + left & 255
        elif kind == 2:
            line[at] = line[at] + up & 255
        elif kind == 3:
            line[at] = line[at] + (left + up) // 2 & 255
        elif kind == 4:
            guess = left + up - corner
            line[at] = line[at] + min((left, up, corner), key=lambda one: abs(guess - one)) & 255


def main(programs, folder):
    os.makedirs(folder, exist_ok=True)
    month = Month(programs, "60", verbose=True)
    link = month.link()
    browser = Browser(link.split("/login/")[0])
    try:
        browser.log_in(link)
        month.end_of_month(browser.origin)
        browser.command("Emulation.setScrollbarsHidden", hidden=True)
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
