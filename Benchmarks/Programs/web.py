#!/usr/bin/env python3
"""Measures the waiting time of a browser for each page of hub-web that the first page links to, beside a running hub.

    web.py HUB CONF [CHROMEDRIVER]

HUB is the program, CONF the hub.conf of a hub that runs with [plugin.web]. Prints a line NAME VALUE for each figure, and the visited pages on stderr:

page_p95_ms          of the slowest page
page_kb              of the heaviest page, with its styles and scripts
idle_mib, after_mib  memory of hub-web before the first visitor, and after all pages were visited
paint_ms             with CHROMEDRIVER: the slowest page's first paint, by the browser's own entries
streams_cpu_percent  with 200 open streams of events
message_ms           from the hub's feed until the last of these streams has the message
"""
import html, http.client, json, os, re, select, socket, subprocess, sys, time, urllib.parse, urllib.request

try:
    import zmq
except ImportError:
    # Debian's Python has it if another Python comes first.
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

hub, configuration = sys.argv[1:3]
driver = sys.argv[3] if len(sys.argv) > 3 else None
requests, most, streams = 100, 40, 200


def command(*words):
    return subprocess.run([hub, *words], env={**os.environ, "HUB_CONF": configuration}, check=True, capture_output=True,
                          text=True).stdout


def process():
    plugins = json.loads(status())["plugins"]
    return next(plugin["pid"] for plugin in plugins if plugin["name"] == "web")


def status():
    # It ends with 1 if a plugin is not well, but it prints the status in any case.
    return subprocess.run([hub, "status", "--json"], env={**os.environ, "HUB_CONF": configuration}, capture_output=True,
                          text=True).stdout


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) / 1024


def processor(pid):
    """The processor time of all its threads, in seconds."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


link = urllib.parse.urlsplit(command("web").split()[0])
pid = process()
time.sleep(5)
print("idle_mib", round(resident(pid), 1))
wire = http.client.HTTPConnection(link.hostname, link.port, timeout=60)
base = f"{link.scheme}://{link.netloc}"


def get(path, fields={}):
    wire.request("GET", path, headers=fields)
    answer = wire.getresponse()
    return answer, answer.read()


def log_in(link):
    wire.request("POST", "/login", "link=" + link.path.rsplit("/", 1)[1],
                 {"Content-Type": "application/x-www-form-urlencoded"})
    answer = wire.getresponse()
    answer.read()
    return answer.getheader("Set-Cookie").split(";")[0]


cookie = log_in(link)
own = {"Cookie": cookie}

# The pages that links lead to, two steps from the first page; only a few of those that differ just by a name or number.
pages, open_, kinds = [], ["/", "/metrics"], {}
while open_ and len(pages) < most:
    path = open_.pop(0)
    answer, body = get(path, own)
    if answer.status != 200:
        print(f"{path}: {answer.status}", file=sys.stderr)
        continue
    pages.append(path)
    for address in re.findall(r'<a [^>]*href="([^"]+)"', body.decode()):
        address = urllib.parse.urldefrag(urllib.parse.urljoin(path, html.unescape(address)))[0]
        kind = re.sub(r"/types/[^/?]+", "/types/x", re.sub(r"=[^&]*", "=", re.sub(r"\d+", "0", address)))
        # A plan of hub.conf starts the program of each plugin to ask it, so its time includes these programs.
        if not address.startswith("/") or address.split("?")[0].endswith("/apply") or address in pages or address in open_ or kinds.get(kind, 0) >= 3:
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        # Nearly all records of the store are heart rates.
        open_.insert(0, address) if "heartRate" in address else open_.append(address)

slowest, heaviest = (0, ""), (0, "")
for path in pages:
    answer, body = get(path, own)
    weight = len(body)
    for part in re.findall(r'<(?:link|script)[^>]*(?:href|src)="([^"]+)"', body.decode()):
        weight += len(get(part, own)[1])
    times = []
    for _ in range(requests):
        begun = time.perf_counter()
        get(path, own)
        times.append((time.perf_counter() - begun) * 1000)
    p95 = sorted(times)[int(len(times) * 0.95)]
    print(f"{path}: p95 {p95:.1f} ms, median {sorted(times)[len(times) // 2]:.1f} ms, {weight / 1000:.1f} kB", file=sys.stderr)
    slowest, heaviest = max(slowest, (p95, path)), max(heaviest, (weight / 1000, path))
print("pages", len(pages))
print("page_p95_ms", round(slowest[0], 2))
print("page_kb", round(heaviest[0], 2))
time.sleep(5)
print("after_mib", round(resident(pid), 1))


def paint():
    """The slowest first paint of the pages, in a browser without a window."""
    port = 20_000 + os.getpid() % 20_000
    server = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def call(method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"},
                                         method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    try:
        for _ in range(100):
            try:
                call("GET", "/status")
                break
            except OSError:
                time.sleep(0.1)
        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"]
        session = "/session/" + call("POST", "/session", {
            "capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": words}}}})["sessionId"]
        call("POST", session + "/url", {"url": base + "/login"})
        name, value = cookie.split("=", 1)
        call("POST", session + "/cookie", {"cookie": {"name": name, "value": value, "httpOnly": True, "path": "/"}})
        worst = (0, "")
        for path in pages:
            if path == "/metrics":
                continue
            # The second visit has the styles in its cache, as all visits after the first have.
            for _ in range(2):
                call("POST", session + "/url", {"url": base + path})
            # The figure exists when the browser has drawn; a page that is not visible is never drawn.
            for _ in range(100):
                found = call("POST", session + "/execute/sync", {
                    "script": "return performance.getEntriesByName('first-paint').map(e => e.startTime)", "args": []})
                if found:
                    break
                time.sleep(0.02)
            print(f"{path}: first paint {found[0] if found else 'never'} ms", file=sys.stderr)
            worst = max(worst, (found[0] if found else 1e6, path))
        call("DELETE", session)
        print("paint_ms", round(worst[0], 1))
    finally:
        server.terminate()
        server.wait()


def events():
    """Measures the cost of 200 idle streams, and the time that a message takes to reach all of them."""
    feed = json.loads(status())["endpoints"]["feed"]
    # With as little load as possible, because the measuring program runs on the same machine.
    chosen, opened = select.epoll(), {}
    # A single browser may not open that number of connections.
    cookies = [log_in(urllib.parse.urlsplit(command("web").split()[0])) for _ in range(4)]
    for number in range(streams):
        cookie = cookies[number % 4]
        stream = socket.create_connection((link.hostname, link.port))
        stream.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {link.netloc}\r\nCookie: {cookie}\r\n\r\n".encode())
        chosen.register(stream, select.EPOLLIN)
        opened[stream.fileno()] = stream
    time.sleep(3)
    heads = 0
    for stream, _ in chosen.poll(0, streams):
        heads += b" 200 " in os.read(stream, 65_536).split(b"\r\n", 1)[0]
    if heads < streams:
        print(f"{heads} of {streams} streams are open", file=sys.stderr)
        return
    before, begun = processor(pid), time.monotonic()
    time.sleep(10)
    print("streams_cpu_percent", round((processor(pid) - before) / (time.monotonic() - begun) * 100, 3))
    print("streams_mib", round(resident(pid), 1))
    listener = zmq.Context().socket(zmq.SUB)
    listener.connect(feed)
    listener.subscribe(b"sample/weight/")
    # The weights come from a program that is already running, like a scale's plugin: no program starts or ends meanwhile.
    source = subprocess.Popen([hub, "bridge", "publish", "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              env={**os.environ, "HUB_CONF": configuration})
    time.sleep(1)
    taken = []
    for number in range(100):
        for stream, _ in chosen.poll(0, streams):
            os.read(stream, 65_536)
        source.stdin.write(json.dumps({"type": "weight", "value": 80 + number / 10, "unit": "kg",
                                       "start": f"2026-03-{number % 28 + 1:02}T07:{number // 28:02}:00Z",
                                       "key": str(number), "subject": {"name": "me"}}).encode() + b"\n")
        source.stdin.flush()
        listener.recv_multipart()
        begun = time.perf_counter()
        # It checks from time to time, and reads when all streams have data: a program that each stream wakes would slow the next one down.
        while len(chosen.poll(0, streams)) < streams and time.perf_counter() - begun < 5:
            time.sleep(0.0005)
        passed = (time.perf_counter() - begun) * 1000
        have = sum(b"weight" in os.read(stream, 65_536) for stream, _ in chosen.poll(0, streams))
        # A comment that keeps the connection alive is no record; then the next event counts.
        if have == streams or passed >= 5000:
            taken.append(passed)
        time.sleep(0.1)
    assert len(taken) > 50, f"only {len(taken)} of 100 records came to all streams alone"
    source.stdin.close()
    source.wait()
    print("message_ms", round(sorted(taken)[len(taken) // 2], 2))


if driver:
    paint()
events()
