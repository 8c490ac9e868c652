"""A browser that is logged in to the page visits a program on another port of this machine: neighbour.py PROGRAMS.

Browsers send a cookie to every port of a host. The neighbour uses the cookies that it gets, and has the browser send requests for its
own pages, to read and to write at the hub. Prints the successful attempts; exit code 1 if one of them is not documented.
"""
import hashlib, re, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from browser import Browser
from household import Household

# A page of the neighbour, which has the browser embed pages, fetch them with its cookies, and send forms into a frame.
PAGE = """<!doctype html><title>A neighbour</title><img src="{hub}/data"><script src="{hub}/api/v1/records"></script>
<iframe name="there" src="{hub}/"></iframe>
<form method="post" action="{hub}/records/{number}/delete" target="there"><input name="version" value="{version}"><input name="token" value=""></form>
<script>
window.read = [];
const paths = ['/', '/data', '/records/{number}', '/api/v1/records'];
const tries = paths.map(path => fetch('{hub}' + path, {{credentials: 'include'}}).then(answer => answer.text()).then(text => window.read.push(text), () => 0));
tries.push(fetch('{hub}/api/v1/retract', {{method: 'POST', mode: 'no-cors', credentials: 'include', body: '{{"number":{number}}}'}}).catch(() => 0));
document.forms[0].submit();
Promise.all(tries).then(() => window.isDone = true);
</script>"""


class Neighbour:
    """A server on another port that records the requests."""

    def __init__(self):
        self.page, self.cookies, self.referrers = "", [], []
        neighbour = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                neighbour.cookies += self.headers.get_all("Cookie") or []
                neighbour.referrers += self.headers.get_all("Referer") or []
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(neighbour.page.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def ask(home, path, cookie=None, form=None, fields=None):
    """Requests a page as a program and returns the status and the text."""
    request = Request(f"http://127.0.0.1:{home.port}{path}", form and form.encode(), {**(fields or {}), **({"Cookie": cookie} if cookie else {})})
    try:
        with build_opener(NoRedirect()).open(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def attack(home, cookie, number, version):
    """Returns the pages that the neighbour can read with a cookie, and the writes that were accepted."""
    read, written = [], []
    secret = cookie.split("=", 1)[-1]
    tokens = {"", secret, hashlib.sha256(f"form:{secret}".encode()).hexdigest(), hashlib.sha256(secret.encode()).hexdigest()}
    for path in ["/", "/data", f"/records/{number}", f"/records/{number}/delete", "/api/v1/records", "/preferences", "/system"]:
        status, text = ask(home, path, cookie)
        if status == 200:
            read.append(path)
        tokens.update(re.findall(r'value="([^"]{20,})"', text))
    for token in sorted(tokens):
        for origin in [{}, {"Origin": f"http://127.0.0.1:{home.port}", "Sec-Fetch-Site": "same-origin"}]:
            form = urlencode({"token": token, "version": version})
            for path in [f"/records/{number}/delete", "/logout", "/apply"]:
                if ask(home, path, cookie, form, origin)[0] < 400:
                    written.append(path)
            fields = {**origin, "X-Form-Token": token, "Content-Type": "application/json"}
            if ask(home, "/api/v1/log", cookie, '{"type":"weight","value":99,"unit":"kg","person":"anna"}', fields)[0] < 400:
                written.append("/api/v1/log")
    return read, written


def weights(home):
    return [(record["number"], record["value"]) for record in home.lines("samples", "weight", "--person", "anna")]


def visit(browser, home, neighbour, host, number, version, hub):
    """Opens the neighbour's page in the browser, and returns the data that this page could read."""
    neighbour.page = PAGE.format(hub=hub, number=number, version=version)
    browser.open(f"http://{host}:{neighbour.port}/")
    browser.wait("return window.isDone === true && document.readyState === 'complete'")
    return browser.value("return window.read")


def main(programs):
    found = []
    home = Household(programs)
    home.configure()
    home.start()
    home.run("log", "weight", "61.8kg", "--person", "anna", "--yes")
    record = home.lines("samples", "weight", "--person", "anna")[0]
    number, version, before = record["number"], record["seq"], weights(home)
    neighbour = Neighbour()

    def check(name, mayRead, link):
        browser = Browser(link.split("/login/")[0])
        # Goes from the neighbour's page to the link, like a person who follows it, and back.
        neighbour.page = f'<!doctype html><title>A neighbour</title><a href="{browser.origin}/login">on</a>'
        browser.open(f"http://127.0.0.1:{neighbour.port}/")
        browser.log_in(link)
        if browser.path != "/":
            found.append(f"{name}: the log-in ends at {browser.path}")
        for host in ["127.0.0.1", "localhost"]:
            for hub in [f"http://127.0.0.1:{home.port}", f"http://localhost:{home.port}"]:
                if visit(browser, home, neighbour, host, number, version, hub):
                    found.append(f"{name}: a page of {host} read the page at {hub}")
        got = [cookie for cookie in neighbour.cookies if "hub" in cookie]
        if mayRead and not got:
            found.append(f"{name}: the browser gave the neighbour no cookie, so that nothing was tried")
        if not mayRead and got:
            found.append(f"{name}: the browser gave the neighbour {len(got)} cookies")
        for cookie in sorted(set(got)):
            read, written = attack(home, cookie, number, version)
            found.extend(f"{name}: with the cookie the neighbour did {path}" for path in written)
            if read and not mayRead:
                found.append(f"{name}: with the cookie the neighbour read {read}")
        if any("login/" in referrer or "hub-" in referrer for referrer in neighbour.referrers):
            found.append(f"{name}: the neighbour received the referrers {neighbour.referrers}")
        secret = link.split("/login/")[1]
        if ask(home, "/login", None, urlencode({"link": secret, "token": "A" * 43}))[0] != 403:
            found.append(f"{name}: the link lets in a second time")
        if weights(home) != before:
            found.append(f"{name}: the records are {weights(home)}, and were {before}")
        # The person writes as before, with the same browser.
        browser.open(f"/records/{number}/delete")
        browser.driver.find_element("css selector", "main button.main").click()
        browser.wait("return document.body.innerText.includes('deleted')")
        if weights(home):
            found.append(f"{name}: the person could not delete the record")
        browser.driver.find_element("css selector", ".notice button").click()
        browser.wait("return !document.body.innerText.includes('deleted.')")
        browser.end()
        neighbour.cookies.clear()
        neighbour.referrers.clear()

    link = home.link()
    check("the name below .localhost", False, link)
    version = home.lines("samples", "weight", "--person", "anna")[0]["seq"]
    check("127.0.0.1", True, f"http://127.0.0.1:{home.port}/login/" + home.link().split("/login/")[1])
    for fault in found:
        print(fault)
    print(f"two names of the page were attacked, {len(found)} faults")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
