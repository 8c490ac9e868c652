"""Plays publisher, follower, sink, asker and launched plugin with each client library and hub bridge, against one real hub.

    clients.py HUB [LANGUAGE…] [--records N] [--patience S] [--json] [--skip-missing] [--keep]

HUB is the program `hub`, with hub-confine beside it. Meanwhile the hub is killed and started again, a follower is
killed and continues at its place, and a backup is restored. A simulated hub sends impossible answers. In the end each
client must have exactly the expected records. Exit code 0: no fault; 1: a fault; 2: a language's tools are missing.
"""
import argparse, hashlib, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading, time
from array import array
from concurrent.futures import ThreadPoolExecutor

import zmq

sys.dont_write_bytecode = True  # leaves no files beside the tests
from clients_fake import CASES, FakeHub
from clients_sessions import played, refusals

CLIENTS = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../../Clients"))
JNA = "/usr/share/java/jna.jar"
PYTHON = sys.executable
# Installs the library as a user would, and checks its types strictly. (pip builds in the given folder, so it gets a copy.)
INSTALL = ["sh", "-ec", f"""
    cp -R '{{here}}' '{{out}}/source' && cp '{{here}}'/conformance*.py '{{out}}'
    '{PYTHON}' -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --no-build-isolation \\
        --target '{{out}}/site' '{{out}}/source'
    test -e '{{out}}/site/health_hub/py.typed'
    cd '{{out}}/source' && mypy --strict --no-error-summary --python-executable '{PYTHON}' --cache-dir /dev/null health_hub"""]
# Tests and builds the module without the network and the user's settings. (Its cache is in OUT, like the program.)
GO = ["env", "GOCACHE={out}/cache", "GOPATH={out}/path", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "CGO_ENABLED=1",
      "sh", "-ec", """
    cd '{here}' && test -z "$(gofmt -d . | tee /dev/stderr)"
    go vet ./... && go test . && go build -buildvcs=false -o '{out}/conformance' ./conformance"""]
# Builds the addon, which the copy of the other route does not have, and checks a program of the library against its declarations.
ADDON = ["sh", "-ec", """
    cp '{here}'/* '{out}' && cd '{out}'
    cc -shared -fPIC -O2 -Wall -Wextra -Werror -I/usr/include/node -o health_hub_zmq.node zmq.c -lzmq
    echo 'declare const process: any; declare module "node:readline";' > node.d.ts
    tsc --strict --noImplicitAny false --noEmit --checkJs --target es2022 --module nodenext node.d.ts conformance.mjs"""]
# The requirements of each language, its build into the folder OUT, and the start of its conformance program there.
LANGUAGES = {
    "bridge": ("Bridge", [], [], [PYTHON, "{here}/conformance.py"]),
    "python": ("Python", ["mypy"], INSTALL, ["env", "PYTHONPATH={out}/site", PYTHON, "{out}/conformance.py"]),
    "asyncio": ("Python", ["mypy"], INSTALL, ["env", "PYTHONPATH={out}/site", PYTHON, "{out}/conformance_asyncio.py"]),
    "ruby": ("Ruby", ["ruby"], [], ["ruby", "{here}/conformance.rb"]),
    "php": ("PHP", ["php"], [], ["php", "-n", "-d", "extension=zmq", "{here}/conformance.php"]),
    "perl": ("Perl", ["perl"], [], ["perl", "{here}/conformance.pl"]),
    "c": ("C", ["cc"], ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", "{out}/conformance", "{here}/conformance.c", "-lzmq", "-lm"],
          ["{out}/conformance"]),
    "c++": ("CPlusPlus", ["c++"], ["c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-o", "{out}/conformance",
                                   "{here}/conformance.cpp", "-lzmq", "-lm"], ["{out}/conformance"]),
    "go": ("Go", ["go", "gofmt", "cc"], GO, ["{out}/conformance"]),
    "java": ("Java", ["java", "javac"], ["javac", "-Xlint:all", "-Werror", "-cp", JNA, "-d", "{out}",
                                         "{here}/src/main/java/healthhub/HealthHub.java", "{here}/Conformance.java"],
             ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", JNA + ":{out}", "Conformance"]),
    "javascript": ("JavaScript", ["node", "cc", "tsc"], ADDON, ["node", "{out}/conformance.mjs"]),
    "javascript-bridge": ("JavaScript", ["node"], ["sh", "-c", "cp '{here}'/*.mjs '{out}'"], ["node", "{out}/conformance.mjs"]),
}
PATIENCE = 120


class Missing(Exception):
    pass


class Lines:
    """A program whose lines are handled as they come. Its errors are kept for the report."""

    started = []

    def __init__(self, command, environment, handle=None, lines=None):
        self.count, self.errors, self.handle, self.lock = 0, [], handle, threading.Condition()
        self.process = subprocess.Popen(command, env={**os.environ, **environment}, text=True, encoding="utf-8",
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        Lines.started.append(self)
        self.threads = [threading.Thread(target=self.read, daemon=True), threading.Thread(target=self.complain, daemon=True)]
        if lines is not None:
            threading.Thread(target=self.write, args=(lines,), daemon=True).start()
        for thread in self.threads:
            thread.start()

    def write(self, lines):
        try:
            for line in lines:
                self.process.stdin.write(line + "\n")
            self.process.stdin.close()
        except OSError:
            pass

    def read(self):
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # the process was killed while it wrote this line
            if self.handle:
                self.handle(json.loads(line))
            with self.lock:
                self.count += 1
                self.lock.notify_all()

    def complain(self):
        for line in self.process.stderr:
            self.errors = (self.errors + [line.rstrip()])[-20:]

    def until(self, count):
        end = time.monotonic() + PATIENCE
        with self.lock:
            while self.count < count and time.monotonic() < end and self.process.poll() is None:
                self.lock.wait(0.5)
        return self.count >= count

    def end(self):
        """The exit code, once all it has printed is handled."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "no end within %d s" % PATIENCE
        for thread in self.threads:
            thread.join(PATIENCE)
        return code

    def kill(self):
        self.process.kill()
        return self.end()


class HubHost:
    """A hub in a separate folder."""

    def __init__(self, program, folder, plugins):
        self.program, self.folder, self.process = program, folder, None
        with open(f"{folder}/hub.conf", "w") as file:
            file.write(f'[hub]\ndata = "{folder}/data"\nrun = "{folder}/run"\ntcp = "tcp://127.0.0.1:{port()}"\n'
                       f'[person.me]\nzone = "Europe/Berlin"\n{plugins}')
        self.environment = {"HUB_CONF": f"{folder}/hub.conf", "LC_ALL": "C.UTF-8"}
        # hub bridge finds the endpoints in hub.conf, as hub does.
        self.owner = {"HUB_DOOR": f"ipc://{folder}/run/door", "HUB_FEED": f"ipc://{folder}/run/feed", **self.environment}

    def say(self, *arguments):
        done = subprocess.run([self.program, *arguments], env={**os.environ, **self.environment}, text=True,
                              capture_output=True, timeout=PATIENCE)
        return done.returncode, done.stdout, done.stderr

    def start(self):
        with open(f"{self.folder}/hub.log", "a") as log:
            self.process = subprocess.Popen([self.program, "run"], env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + PATIENCE
        while self.say("status", "--json")[0] == 69 and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.1)

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait() if self.process else None


class Asker:
    """The oracle's own way to the door, without any of the libraries."""

    def __init__(self, door):
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(door)

    def greet(self):
        self.socket.send_multipart([b"HELLO", json.dumps({"protocol": [1], "instance": "oracle", "plugin": "oracle",
                                                          "version": "1", "mode": "once"}).encode()])

    def ask(self, question):
        """Reads page by page, and keeps no page."""
        self.greet()
        while self.socket.poll(PATIENCE * 1000):
            verb, body = self.socket.recv_multipart()
            body = json.loads(body)
            if verb == b"PING":
                self.socket.send_multipart([b"PONG", json.dumps(body).encode()])
            elif verb == b"RESULT":
                yield body
                page = body.get("statistics", body)
                if "next" not in page:
                    return
                question = {**question, "next": page["next"]}
            elif verb == b"ERROR" and body["code"] == "hello-first":
                self.greet()  # it was silent for too long, because reading a page of a big store takes time
            elif verb == b"ERROR":
                raise RuntimeError(body["reason"])
            if verb in (b"WELCOME", b"RESULT"):
                self.socket.send_multipart([b"QUERY", json.dumps({"id": 1, **question}).encode()])
        raise RuntimeError("the hub does not answer")


def port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def digest(value):
    return int.from_bytes(hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).digest(), "big") or 1


def weight(name, n):
    # Digits that are lost in a number printed with fifteen digits, and text beyond ASCII and the first plane.
    return {"type": "weight", "value": 50 + n % 5000 / 100 + 0.1 + 0.2, "unit": "kg",
            "start": f"20{10 + n // 40_000_000 % 10}-0{1 + n % 9}-{10 + n // 9 % 19}T0{n // 171 % 10}:{10 + n // 1710 % 50}:{10 + n // 85500 % 50}+01:00",
            "key": f"{name}-{n}", "metadata": {"note": "süß \U0001f34e \"\\/\t" + str(n), "n": n, "yes": True, "none": None, "part": [0.1, {}]}}


def essence(record):
    """The digest of a record as its source gave it."""
    return digest([record["type"], float(record["value"]), record["unit"], record["start"], record["key"], record.get("metadata")])


class Given:
    """The records of one part, made when they are asked for."""

    def __init__(self, name, count):
        self.name, self.count = name, count

    def __len__(self):
        return self.count

    def __iter__(self):
        return (weight(self.name, n) for n in range(self.count))


class Digests:
    """The digest of each record under a number, because a million records of each player have to fit into memory."""

    def __init__(self):
        self.values, self.count = array("Q"), 0

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        return self.values[number] if number < len(self.values) else 0

    def __setitem__(self, number, digest):
        if number >= len(self.values):
            self.values.frombytes(bytes(8 * (number + 1 - len(self.values))))
        self.count += (digest != 0) - (self.values[number] != 0)
        self.values[number] = digest

    def __eq__(self, other):
        short, long = sorted((self.values, other.values), key=len)
        return self.count == other.count and short == long[:len(short)]


places, placesLock = {}, threading.Lock()


def place(key):
    """The number of a key, the same for all players."""
    found = places.get(key)
    if found is None:
        with placesLock:
            found = places.setdefault(key, len(places))
    return found


class Follower:
    """The records of a follower, built from its messages; `doubled` counts versions that it received twice without a restore in between."""

    def __init__(self):
        self.records, self.seen, self.place, self.doubled, self.forgot = Digests(), Digests(), None, 0, 0

    def take(self, line):
        record, self.place = line["record"], line["place"]
        if record is None:
            self.records, self.seen = Digests(), Digests()
            self.forgot += 1
            return
        self.doubled += self.seen[record["seq"]]
        self.seen[record["seq"]] = 1
        self.records[record["number"]] = 0 if record["kind"] == "retraction" else digest(record)


class Target:
    """The records of a sink's target, by identity; `again` counts versions that it received more than once."""

    def __init__(self):
        self.records, self.last, self.earlier, self.again = Digests(), Digests(), set(), 0

    def take(self, line):
        record = line["record"]
        number, version = place(record["key"]), record["seq"]
        self.again += self.last[number] == version or (number, version) in self.earlier
        if self.last[number] not in (0, version):
            self.earlier.add((number, self.last[number]))
        self.last[number] = version
        self.records[number] = essence(record)


class Player:
    """One language: its programs, and the results of its checks."""

    def __init__(self, language, folder):
        name, tools, build, self.start = LANGUAGES[language]
        self.language, self.name = language, language.replace("++", "pp").replace("-", "")
        here, out = f"{CLIENTS}/{name}", f"{folder}/{self.name}"
        missing = [tool for tool in tools if not shutil.which(tool)]
        if missing or not os.path.isdir(here):
            raise Missing(f"{language}: there is no {', '.join(missing) or here}")
        os.mkdir(out)
        fill = {"here": here, "out": out}
        if build:
            done = subprocess.run([word.format(**fill) for word in build], text=True, capture_output=True)
            if done.returncode:
                raise Missing(f"{language} cannot be built: {(done.stdout + done.stderr).strip()}")
        words = [word.format(**fill) for word in self.start]
        words[0] = shutil.which(words[0]) or words[0]
        self.readable = [here, out] + ([CLIENTS] if language == "c++" else [])
        if language == "java":  # Debian has in /etc the files that a JVM reads at its start
            home = os.path.dirname(os.path.dirname(os.path.realpath(words[0])))
            self.readable.append(os.path.dirname(os.path.dirname(os.path.realpath(f"{home}/conf/security/java.security"))))
        self.command = f"{out}/hub-conformance"
        with open(self.command, "w") as file:
            file.write("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + ' "$@"\n')
        os.chmod(self.command, 0o755)
        self.hasSpool = language == "python"
        # hub samples and hub stats send requests at the same time.
        self.asks = language != "bridge"
        # PluginKit's own tests play hubs with impossible answers for hub bridge.
        self.isLibrary = not language.endswith("bridge")
        self.checks, self.follower, self.target = [], Follower(), Target()

    def section(self):
        readable = ", ".join(f'"{path}"' for path in self.readable)
        return (f'[plugin.plug-{self.name}]\nexecutable = "{self.command}"\nlabel = "{self.name}-plug"\nreadable = [{readable}]\n'
                f'[plugin.far-{self.name}]\nremote = true\ngrants = {{ read = ["weight"], write = ["weight"] }}\nfeed_port = {port()}\n')

    def check(self, what, holds, detail=""):
        self.checks.append({"language": self.language, "what": what, "holds": bool(holds), "detail": "" if holds else str(detail)})

    def run(self, arguments, environment, handle=None, lines=None):
        return Lines([self.command, *arguments], environment, handle, lines)

    def follow(self, host):
        place = [self.follower.place] if self.follower.place else []
        self.following = self.run(["follow", "weight", *place], {"HUB_KEY": f"{host.folder}/{self.name}.key"}, self.follower.take)

    def sink(self, host):
        self.sinking = self.run(["sink", "weight"], {**host.owner, "HUB_INSTANCE": f"sink-{self.name}"}, self.target.take)

    def give(self, host, records, chunk):
        self.results = []
        self.giving = self.run(["give", str(chunk)], {**host.owner, "HUB_INSTANCE": f"give-{self.name}"},
                               self.results.append, (json.dumps(record) for record in records))

    def gave(self, records, what):
        code = self.giving.end()
        wrong = [result for record, result in zip(records, self.results)
                 if result["key"] != record["key"] or result["result"] not in ("stored", "duplicate")]
        self.check(what, code == 0 and len(self.results) == len(records) and not wrong,
                   f"exit {code}, {len(self.results)} results of {len(records)}, wrong {wrong[:2]}, said {self.giving.errors}")

    def ask(self, host, question):
        """Returns the digests of the answers."""
        answers = []
        asking = self.run(["query", json.dumps(question)], {**host.owner, "HUB_INSTANCE": f"ask-{self.name}"},
                          lambda answer: answers.append(digest(answer)))
        code = asking.end()
        return code, answers, asking.errors

    def spool(self, host, records):
        """Keeps records while the hub is away, and is killed; they are given when it is back."""
        keeping = self.run(["keep", f"{host.folder}/{self.name}.spool"], {**host.owner, "HUB_INSTANCE": f"give-{self.name}"},
                           lines=[json.dumps(record) for record in records] + [""] * 10)
        self.check("keeps records on disk while the hub is away", keeping.until(len(records)), keeping.errors)
        keeping.kill()

    def flush(self, host):
        flushing = self.run(["flush", f"{host.folder}/{self.name}.spool"], {**host.owner, "HUB_INSTANCE": f"give-{self.name}"})
        code = flushing.end()
        self.check("gives its kept records after a kill -9", code == 0, f"exit {code}, said {flushing.errors}")

    def malformed(self, folder):
        records = [{"type": "weight", "value": 70 + n, "unit": "kg", "start": "2026-01-01T00:00:00Z", "key": f"k{n}"} for n in range(7)]
        for n, (what, twist, code, then) in enumerate(CASES):
            address, results = f"ipc://{folder}/{self.name}-{n}", []
            hub = FakeHub(address, twist)
            one = self.run(["give", "7"], {"HUB_DOOR": address, "HUB_INSTANCE": "fake"}, results.append,
                           [json.dumps(record) for record in records])
            ended, errors = one.end(), " ".join(one.errors)
            hub.end()
            holds = ended == code and (code != 0 or [r["key"] for r in results] == [r["key"] for r in records])
            if isinstance(then, str):
                holds = holds and then in errors and not results
            if isinstance(then, dict):
                holds = holds and all(hub.count(verb) == count for verb, count in then.items())
            self.check(what, holds, f"exit {ended}, {len(results)} results, said {errors!r}, the hub heard {[v for v, _ in hub.heard]}")

    def launched(self, host):
        """Waits until its plugin has greeted the hub."""
        wait(lambda: any(plugin["name"] == f"plug-{self.name}" and plugin["state"] == "running"
                         for plugin in json.loads(host.say("status", "--json")[1] or "{}").get("plugins", [])))

    def add(self, host, count, *arguments):
        code, out, error = host.say("do", f"plug-{self.name}", "add", f"count={count}", "--json", *arguments)
        return code, out.strip() or error.strip()


def wait(what):
    end = time.monotonic() + PATIENCE
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return what()


def play(players, host, count):
    each = max(30, count // (3 * len(players)))
    chunk = max(10, min(5_000, each // 10))
    parts = {player: [Given(f"{player.name}-{part}", each) for part in "abc"]
             + [Given(f"{player.name}-d", 30 if player.hasSpool else 0)] for player in players}

    def note(text):
        print(f"{time.monotonic() - began:7.1f} s  {text}", file=sys.stderr, flush=True)

    status = {}

    def subscriptions():
        status.clear()
        for page in Asker(host.owner["HUB_DOOR"]).ask({"want": "status"}):
            status.update({sink["instance"]: sink for sink in page["status"].get("sinks", [])})
        return status

    began = time.monotonic()
    code, out, error = host.say("check")
    for player in players:
        player.check("hub check takes its manifest and settings", code == 0 or f"plug-{player.name}" not in out + error, out + error)
        code_, key, error_ = host.say("keys", "new", f"far-{player.name}")
        if code_:
            raise RuntimeError(error_)
        with open(os.open(f"{host.folder}/{player.name}.key", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(key)
    # Half of the programs start before the hub.
    for n, player in enumerate(players):
        if n % 2 == 0:
            player.follow(host)
            player.give(host, parts[player][0], chunk)
    host.start()
    for n, player in enumerate(players):
        if n % 2:
            player.follow(host)
            player.give(host, parts[player][0], chunk)
        player.sink(host)
    for player in players:
        player.gave(parts[player][0], "gives, begun beside a hub that is away or there")
    note("the first part is stored")
    # After a restore everything without a receipt in the backup is delivered again, so every sink must have asked and be done before.
    settled = wait(lambda: len(subscriptions()) == len(players)
                   and all(sink["pending"] == 0 and sink["delivered"] == each * len(players) for sink in status.values()))
    for player in players:
        player.check("its receipts are there before the backup", settled, status.get(f"sink-{player.name}", list(status)))
    code, out, error = host.say("backup", f"{host.folder}/backup.sqlite")
    if code:
        raise RuntimeError(error)

    for player in players:
        player.give(host, parts[player][1], chunk)
    for player in players:
        player.giving.until(chunk)
    host.stop(signal.SIGKILL)
    note(f"the hub was killed after {sum(player.giving.count for player in players)} of {len(players) * each}")
    host.start()
    for player in players:
        player.gave(parts[player][1], "gives through kill -9 of the hub")
        player.following.kill()
        player.follow(host)
    note("the second part is stored, the followers were killed and go on from their places")
    for player in players:
        wait(lambda: len(player.follower.records) == 2 * each * len(players))
        player.check("follows through kill -9 of the hub and its own",
                     len(player.follower.records) == 2 * each * len(players) and not player.follower.doubled,
                     f"{len(player.follower.records)} of {2 * each * len(players)}, {player.follower.doubled} doubled, "
                     f"said {player.following.errors}")
        wait(lambda: len(player.target.records) == 2 * each * len(players))
        player.launched(host)

    host.stop()
    for player in players:
        code, out, _ = host.say("logs", f"plug-{player.name}")
        player.check("ends when it receives STOP", "stopped" in out, out[-500:])
    code, out, error = host.say("restore", f"{host.folder}/backup.sqlite", "--yes")
    if code:
        raise RuntimeError(out + error)
    for player in players:
        if player.hasSpool:
            player.spool(host, parts[player][3])
        player.give(host, parts[player][2], chunk)
    host.start()
    note("the backup is restored")
    for player in players:
        player.gave(parts[player][2], "gives through a restore")
        # It has the same name, so it must start later: otherwise its session would replace the other one.
        if player.hasSpool:
            player.flush(host)
        player.launched(host)
        answers = [player.add(host, 20), player.add(host, 20)]
        stored = [json.loads(text).get("stored") if code == 0 else text for code, text in answers]
        player.check("a launched plugin carries out a command, and again without harm", stored == [20, 0], answers)
        code, text = host.say("do", f"plug-{player.name}", "add", "count=1", "--dry-run")[::2]
        player.check("a dry run that it does not know is refused", code == 64, text)

    records, held, order, of, doubled = Digests(), Digests(), [], dict.fromkeys(players, 0), 0
    byName = {player.name: player for player in players}
    for page in Asker(host.owner["HUB_DOOR"]).ask({"want": "records", "types": ["weight"]}):
        for record in page["records"]:
            records[record["number"]] = digest(record)
            order.append(records[record["number"]])
            doubled += held[place(record["key"])] != 0
            held[place(record["key"])] = essence(record)
            name, part = record["key"].split("-")[:2]
            of[byName[name]] += part != "plug"
    everything = Digests()
    everything.values, everything.count = array("Q", held.values), held.count
    for player in players:
        given = [(place(record["key"]), essence(record)) for part in (0, 2, 3) for record in parts[player][part]]
        player.check("the hub has each of its records, as it was given, once",
                     all(held[number] == value for number, value in given) and of[player] == len(given) and not doubled,
                     f"{of[player]} of {len(given)}, {doubled} records of all are there twice")
        # The target has also received the records that the restore took back.
        for record in parts[player][1]:
            everything[place(record["key"])] = essence(record)
    for player in players:
        wait(lambda: player.follower.records == records)
        theirs = player.follower.records
        player.check("follows through a restore: in the end exactly the hub's records", theirs == records and player.follower.forgot,
                     f"{len(theirs)} of {len(records)}, forgot {player.follower.forgot} times, said {player.following.errors}")
        player.check("receives no version twice", player.follower.doubled == 0, player.follower.doubled)
        wait(lambda: player.target.records == everything)
        player.check("its target has each record, as it was given", player.target.records == everything,
                     f"{len(player.target.records)} of {len(everything)}, said {player.sinking.errors}")
        # The records that were under way at the kill and at the stop: twice its credit.
        player.check("only records that were on their way are delivered again", player.target.again <= 2_000, player.target.again)
        settled = wait(lambda: subscriptions().get(f"sink-{player.name}", {}).get("pending") == 0)
        mine = status.get(f"sink-{player.name}", {})
        player.check("its receipts have arrived", settled and mine.get("delivered") == len(records), mine or list(status))
        if not player.asks:
            continue
        code, answers, errors = player.ask(host, {"want": "records", "types": ["weight"]})
        player.check("asks for records over pages", code == 0 and answers == order,
                     f"exit {code}, {len(answers)} of {len(order)}, said {errors}")
        question = {"want": "statistics", "types": ["weight"], "persons": ["me"], "figures": ["average", "minimum", "maximum"],
                    "interval": {"unit": "day", "zone": "Europe/Berlin"}, "limit": 1000}
        oracle = [digest(interval) for page in Asker(host.owner["HUB_DOOR"]).ask(question) for interval in page["statistics"]["intervals"]]
        code, answers, errors = player.ask(host, question)
        player.check("asks for statistics", code == 0 and answers == oracle and oracle,
                     f"exit {code}, {len(answers)} of {len(oracle)}, said {errors}")
        code, answers, errors = player.ask(host, {"want": "records", "types": ["wieght"]})
        player.check("says why a question is wrong", code == 77 and "weight" in " ".join(errors), f"exit {code}, said {errors}")
    note("all is compared")
    libraries = [player for player in players if player.isLibrary]
    for player in players:
        player.sinking.kill()
        if not player.isLibrary:
            player.following.kill()
    refusals([player for player in players if player.asks], host)
    note("keys are revoked")
    host.stop()
    conf = f"{host.folder}/hub.conf"
    with open(conf) as file:
        text = file.read()
    for player in players:
        with open(conf, "w") as file:
            file.write(text.replace(f'label = "{player.name}-plug"', 'label = "bad"'))
        code, out, error = host.say("check")
        player.check("hub check prints its objections to its settings", code == 65 and "label is not to be bad" in out + error,
                     out + error)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda player: (player.malformed(host.folder), played(player, host.folder)), libraries))
    note("answers that cannot be were played")


def listings():
    """Each listing in Docs/Clients.md that is part of a file must be in that file, line for line."""
    document = os.path.join(CLIENTS, "../Docs/Clients.md")
    with open(document, encoding="utf-8") as file:
        parts = file.read().split("<!-- from: ")[1:]
    checks = []
    for part in parts:
        name, rest = part.split(" -->\n", 1)
        with open(os.path.join(CLIENTS, "..", name), encoding="utf-8") as file:
            lines = [line.strip() for line in file]
        shown = [line.strip() for line in rest.split("```")[1].split("\n")[1:-1]]
        holds = any(lines[n:n + len(shown)] == shown for n in range(len(lines)))
        checks.append({"language": "", "what": f"Docs/Clients.md shows {name} as it is", "holds": holds, "detail": "" if holds else shown[0]})
    return checks


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("hub")
    arguments.add_argument("languages", nargs="*", default=[])
    arguments.add_argument("--records", type=int, default=3_000, metavar="N", help="in all languages together (3000)")
    arguments.add_argument("--patience", type=int, default=120, metavar="S", help="seconds to wait for each thing (120)")
    arguments.add_argument("--json", action="store_true", help="a JSON line for each thing that was looked at")
    arguments.add_argument("--skip-missing", action="store_true", help="leave out a language whose tools are missing")
    arguments.add_argument("--keep", action="store_true", help="keep the folder")
    arguments = arguments.parse_args()
    globals()["PATIENCE"] = arguments.patience
    os.environ["PATH"] = os.path.dirname(os.path.realpath(arguments.hub)) + ":" + os.environ["PATH"]
    unknown = [name for name in arguments.languages if name not in LANGUAGES]
    if unknown:
        sys.exit(f"there is no client in {', '.join(unknown)}; there are {', '.join(LANGUAGES)}")
    folder = tempfile.mkdtemp(prefix="hub-clients-", dir="/tmp")
    host, players, missing = None, [], []

    def leave(*_):
        raise SystemExit(130)

    signal.signal(signal.SIGTERM, leave)
    try:
        for language in arguments.languages or LANGUAGES:
            try:
                players.append(Player(language, folder))
            except Missing as reason:
                missing.append({"language": language, "what": "its tools are there", "holds": arguments.skip_missing, "detail": str(reason)})
        if players:
            host = HubHost(os.path.realpath(arguments.hub), folder, "".join(player.section() for player in players))
            play(players, host, arguments.records)
    finally:
        for lines in Lines.started:
            if lines.process.poll() is None:
                lines.process.kill()
        if host:
            host.stop(signal.SIGKILL)
        if arguments.keep:
            print(folder, file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    checks = missing + listings() + [check for player in players for check in player.checks]
    for check in checks:
        if arguments.json:
            print(json.dumps(check))
        else:
            print(f"{'holds' if check['holds'] else 'FAILS':6} {check['language']:7} {check['what']}"
                  + (f"\n       {check['detail']}" if check["detail"] else ""))
    failed = [check for check in checks if not check["holds"]]
    if not arguments.json:
        print(f"{len(checks) - len(failed)} of {len(checks)} hold")
    sys.exit(2 if any(check in missing for check in failed) else 1 if failed else 0)


if __name__ == "__main__":
    main()
