"""Puts texts of markup and script wherever a person or a plugin can put a text: hostile.py PROGRAMS [--brief].

The hub's plugin writes them into its log, its manifest, its events and its records. Its owner writes them as notes and settings. The
browser sends them in every parameter of a page and in every form. They must have no effect in the browser: no dialogue, no element, no
message on the console. With --brief it goes to the first twenty pages, and each field gets one text instead of two.
"""
import json, os, sys, time
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from browser import Browser
from crawl import crawl
from household import Household, moment

# {} is a number. Elements, attributes and calls that a payload could make are named evil.
TEXTS = [
    "<script>evil({})</script>", "\"><script>evil({})</script>", "'><script>evil({})</script>", "<img src=x evil={} onerror=evil({})>",
    "\"><img src=x onerror=evil({})>", "<svg onload=evil({})><evil-x>", "\" onmouseover=\"evil({})\" evil=\"{}", "' onfocus='evil({})' autofocus evil='{}",
    " onfocus=evil({}) autofocus evil={} ", "`onload=evil({})`", "</title><script>evil({})</script>", "</textarea><evil-x>{}</evil-x>", "</style><evil-x>{}</evil-x>",
    "</table></main></body><evil-x>{}</evil-x>", "<!-- {} --!><evil-x>", "--><evil-x>{}</evil-x><!--", "]]><evil-x>{}</evil-x>", "<iframe srcdoc='<script>parent.evil({})</script>'>",
    "<base href=//evil.example/{}/>", "<meta http-equiv=refresh content='0;url=//evil.example/{}'>", "<form action=//evil.example/{}><button evil={}>", "<a href=javascript:evil({}) evil={}>here</a>",
    "javascript:evil({})", "data:text/html,<script>evil({})</script>", "//evil.example/{}", "&lt;evil-x&gt;{}", "&#60;evil-x&#62;{}", "%3Cevil-x%3E{}", "+ADw-evil-x+AD4-{}",
    "<<evil-x>{}<</evil-x>>", "<evil-x/{}/", "\\u003cevil-x\\u003e{}", "{{{{{}*7}}}}${{evil({})}}", "‮<evil-x>{}‬", "\u2028<evil-x>{}", "=cmd|' /C evil'!A{}", "<evil-x>" + "{}" * 60,
]
# The traces of payloads, if any worked.
MADE = """
    const found = [...document.querySelectorAll('*')].filter(one => one.localName.startsWith('evil') || one.hasAttribute('evil')
        || [...one.attributes].some(attribute => attribute.name.startsWith('on') || /^\\s*(javascript|data|vbscript):/i.test(attribute.value)
            && ['href', 'src', 'action', 'formaction'].includes(attribute.name))
        || ['iframe', 'base', 'object', 'embed', 'img'].includes(one.localName) || one.matches('meta[http-equiv]')
        || one.matches('script') && !one.src.startsWith(location.origin + '/assets/')
        || one.matches('form') && !one.action.startsWith(location.origin));
    return found.map(one => one.outerHTML.slice(0, 160)).concat(window.evils ?? []);
"""
BEFORE = "window.evils = []; window.evil = number => window.evils.push(`evil(${number}) was called`);"


def texts(start=1):
    return [text.replace("{}", str(number)) if "{{" not in text else text.format(number, number) for number, text in enumerate(TEXTS, start)]


def plugin(home):
    """A plugin that has the texts in its manifest and in everything that it sends."""
    folder = home.folder + "/hostile"
    os.mkdir(folder)
    home.place("hub", folder)  # A plugin sees its own folder, but not the folder of the tests' programs.
    every = texts()
    manifest = {
        "name": "hostile", "summary": every[1], "version": "1.0", "writes": ["*"], "reads": ["weight"], "sink": {},
        "declares": [{"id": "x.evil.thing", "kind": "quantity", "unit": "count", "aggregation": "discreteArithmetic"}],
        "settings": [{"name": f"text{number}", "type": "string", "help": text[:200]} for number, text in enumerate(every[:8])]
        + [{"name": "choice", "type": "string", "help": every[2], "default": every[3]}],
        "commands": [{"name": "refresh", "help": every[4]}],
    }
    home.write(json.dumps(manifest), "hostile/manifest.json")
    home.write("\n".join(every), "hostile/texts")
    home.write("\n".join(json.dumps({"event": {"event": "error", "severity": "error", "device": text, "text": text}}) for text in every), "hostile/events")
    home.write("".join(json.dumps(record) + "\n" for record in records(is_own=True)), "hostile/records")
    home.write(f"""#!/bin/sh
exec {folder}/hub bridge plugin --manifest {folder}/manifest.json "$@" -- /bin/sh {folder}/program.sh
""", "hostile/hub-hostile", executable=True)
    home.write(f"""
while IFS= read -r line <&3; do printf '%s\\n' "$line" >&2; done 3< {folder}/texts
cat {folder}/events {folder}/records
while IFS= read -r line; do
    case $line in
    '{{"delivery":'*) number=${{line#*:}}; echo "{{\\"delivery\\":${{number%%,*}},\\"result\\":\\"rejected\\",\\"reason\\":\\"<evil-x>1</evil-x>\\"}}" ;;
    '{{"command":'*) number=${{line#*:}}; echo "{{\\"command\\":${{number%%,*}},\\"outcome\\":\\"failed\\",\\"code\\":\\"settings\\",\\"reason\\":\\"<evil-x>2</evil-x>\\"}}" ;;
    '{{"stop":'*) exit 0 ;;
    esac
done
""", "hostile/program.sh")
    return f"""
[plugin.hostile]
executable = "{folder}/hub-hostile"
grants = {{ write = ["*"], read = ["*"] }}
""" + "".join(f"text{number} = {json.dumps(text)}\n" for number, text in enumerate(every[:8]))


def records(is_own=False):
    found = []
    for number, text in enumerate(texts(100)):
        kinds = [("x.evil.thing", 1, "count")] if is_own else [("weight", 60 + number / 10, "kg"), ("heartRate", 60, "count/min")]
        for place, (kind, value, unit) in enumerate(kinds):
            found.append({"type": kind, "value": value, "unit": unit, "start": moment(number, 8 + place).isoformat(), "key": f"{number} {kind}",
                          "source": {"device": text[:100], "account": text[:100]}, "metadata": {"note": text, text[:60]: text},
                          **({"subject": {"name": "anna"}} if number % 3 else {"subject": {"name": text[:60]}})})
    return found


def main(programs, brief, verbose):
    home, found, most = Household(programs), [], 1 if brief else 2
    begin = time.monotonic()

    def say(text):
        if verbose:
            print(f"{time.monotonic() - begin:6.1f} {text}", file=sys.stderr)

    home.configure(plugin(home))
    home.start()
    taken = home.publish_each(records())
    say(f"{taken} records")
    home.run("log", "weight", "61kg", "--person", "anna", "--note", texts(500)[0], "--yes")
    browser = Browser(home.origin)
    browser.command("Page.addScriptToEvaluateOnNewDocument", source=BEFORE)
    browser.log_in(home.link())

    def look(path, is_refused=False):
        made = browser.value(MADE) + browser.complaints(wrong_status_is_meant=is_refused)
        found.extend(f"{path}: {fault}" for fault in made)
        return made

    forms = {}

    def look_and_list(path, _):
        look(path)
        for place, action in enumerate(browser.value("return [...document.forms].map(one => one.method + ' ' + one.action)")):
            if action.startswith("post ") and not action.endswith("/logout"):
                forms.setdefault(action.split("?")[0], (path, place))

    pages = crawl(browser, look_and_list, most=20 if brief else None)
    found += browser.faults
    say(f"{sum(map(len, pages.values()))} pages, {len(forms)} forms")
    shown = 0
    for kind, (path, *_) in pages.items():
        if "?" in kind:
            continue
        browser.open(path)
        shown += "evil" in browser.text()
        # Returns the addresses of all links, and those that can be requested of any page.
        names = {name for name, _ in parse_qsl(urlsplit(path).query)} | {"person"}
        names |= {feature.split("?")[1].split("=")[0] for feature in pages if feature.startswith(kind + "?")}
        for text in ["\"><evil-x>'<img src=x onerror=evil(1)>", "javascript:evil(2)//</title><script>evil(3)</script>"][:most]:
            for name in sorted(names):
                others = [(other, value) for other, value in parse_qsl(urlsplit(path).query) if other != name]
                address = f"{urlsplit(path).path}?{urlencode(others + [(name, text)])}"
                browser.open(address)
                look(address, is_refused=True)
        for address in [f"{urlsplit(path).path.rstrip('/')}/{quote(texts()[1], safe='')}", f"{urlsplit(path).path}#<img src=x onerror=evil(4)>"]:
            browser.open(address)
            look(address, is_refused=True)
    say("parameters")
    for action, (path, place) in forms.items():
        for text in ["\"><evil-x><script>evil(5)</script>", "'-evil(6)-'</textarea><img src=x onerror=evil(7)>"][:most]:
            browser.open(path)
            has = browser.value("""
                const form = document.forms[arguments[0]], fields = [...form?.elements ?? []].filter(one =>
                    ['text', 'search', 'textarea', 'url', 'number', 'date', 'time', 'datetime-local', 'select-one', 'hidden'].includes(one.type) && one.name !== 'token');
                for (const one of fields) {
                    if (one.type === 'select-one') one.add(new Option(arguments[1], arguments[1], true, true));
                    else { if (one.type !== 'hidden') one.type = 'text'; one.removeAttribute('maxlength'); one.value = arguments[1]; }
                }
                if (fields.length) { form.noValidate = true; form.submit(); }
                return fields.length;""", place, text)
            if has:
                browser.settle()
                look(f"{action}, sent", is_refused=True)
                if browser.path.startswith("/login"):
                    browser.log_in(home.link())
    say("forms")
    browser.end()
    for fault in found:
        print(fault)
    print(f"{taken} records, {sum(map(len, pages.values()))} pages, {len(forms)} forms, texts seen on {shown} kinds of pages, {len(found)} faults")
    return bool(found) or taken < len(TEXTS) or shown < 2 or not forms


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--brief" in sys.argv, "--verbose" in sys.argv))
