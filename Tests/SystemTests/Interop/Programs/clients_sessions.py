"""The plays of clients.py about sessions: the bell, refusals, pauses, tokens, LIVE and EVENT."""
import json, os, signal, time

import zmq

from clients_fake import WELCOME, FakeHub, usual

RECORD = {"type": "weight", "value": 70, "unit": "kg", "start": "2026-01-01T00:00:00Z", "key": "k"}
FAR = {"result": "retry", "reason": "the target is away"}


def welcome(**members):
    return ("WELCOME", {**WELCOME, **members})


# With a stand-in for the hub

def bell(player, folder, rings=5):
    """The client must ask when the feed rings, and not when it would have looked anyway: no PING may come before its QUERY."""
    address = f"{folder}/{player.name}-bell"
    feed = zmq.Context.instance().socket(zmq.XPUB)
    feed.linger = 0
    feed.bind(f"ipc://{address}-feed")

    def twist(hub, verb, body):
        if verb == "HELLO":
            return [welcome(heartbeat={"interval": 20_000, "timeout": 80_000})]
        if verb == "QUERY":
            return [("RESULT", {"id": body["id"], "records": [], "cursor": f"aaaaaaaa-{hub.count('QUERY')}"})]

    hub = FakeHub(f"ipc://{address}", twist)
    following = player.run(["follow", "weight", "aaaaaaaa-0"],
                           {"HUB_DOOR": f"ipc://{address}", "HUB_FEED": f"ipc://{address}-feed", "HUB_INSTANCE": "fake"})
    wanted = {b"\x01sample/weight/", b"\x01retraction/weight/", b"\x01hub/pulse/"}
    while wanted and feed.poll(60_000):
        wanted.discard(feed.recv())
    hub.until(lambda: hub.count("QUERY") >= 1, 60)
    asked, pings = [], []
    for n in range(rings):
        before, seen = hub.count("QUERY"), hub.count("PING")
        feed.send_multipart([b"sample/weight/me/fake/", b"%d %d aaaaaaaa" % (n + 1, n), json.dumps(RECORD).encode()])
        hub.until(lambda: hub.count("QUERY") > before or hub.count("PING") > seen, 60)
        asked.append(hub.count("QUERY") > before)
        pings.append(hub.count("PING") - seen)
    following.kill()
    hub.end()
    feed.close()
    player.check("asks as soon as the feed rings, before it would have said PING", all(asked) and not any(pings),
                 f"asked {asked}, pings {pings}, said {following.errors}")


def pauses(player, folder):
    """Three deliveries are on their way when the target is away: the program is called once, and all come again later."""
    address = f"ipc://{folder}/{player.name}-pause"

    def twist(hub, verb, body):
        if verb == "WANT":
            return [("WANT", {"want": body["want"], "new": True, "cursor": "aaaaaaaa-0", "pending": 3})] + [
                ("DELIVER", {"want": body["want"], "delivery": n,
                             "records": [{**RECORD, "kind": "quantity", "number": n, "seq": n}] * 2}) for n in (1, 2, 3)]

    hub, lines = FakeHub(address, twist), []
    sinking = player.run(["sink", "weight", "600"], {"HUB_DOOR": address, "HUB_INSTANCE": "fake"}, lines.append)
    hub.until(lambda: hub.count("DONE") >= 3, 60)
    sinking.kill()
    hub.end()
    done = [body for verb, body in hub.heard if verb == "DONE"]
    away = all(590_000 < body.get("pause", 0) <= 600_000 and len(body["results"]) == 2 and all(
        result["result"] == "retry" and 590_000 < result["after"] <= 600_000 for result in body["results"]) for body in done)
    player.check("a sink whose target is away is called once, and asks the hub to pause", len(done) == 3 and away and lines == [{"paused": 2}],
                 f"the program was called {lines}, the hub heard {done}, said {sinking.errors}")


def lost(player, folder):
    """The session ends before TOKEN and TOKEN-PUT are answered."""
    address = f"ipc://{folder}/{player.name}-lost"
    forgotten = ("ERROR", {"code": "hello-first", "reason": "say HELLO", "closed": True})

    def twist(hub, verb, body):
        if verb == "HELLO":
            return [welcome(session=f"s{hub.count('HELLO')}")]
        if verb == "TOKEN":
            return [forgotten] if hub.count("TOKEN") == 1 else [("TOKEN", {"id": body["id"], "token": {"access_token": "a"}, "version": 3})]
        if verb == "TOKEN-PUT":
            return [forgotten]

    hub, lines = FakeHub(address, twist), []
    calls = [["token", {"account": "me", "for": "use"}],
             ["putToken", {"account": "me", "expect": 3, "token": {"access_token": "b"}}], ["token", {"account": "me", "for": "use"}]]
    code = player.run(["calls", json.dumps(calls)], {"HUB_DOOR": address, "HUB_INSTANCE": "fake"}, lines.append).end()
    hub.end()
    versions = [line.get("error") or line["answer"].get("version") for line in lines]
    player.check("asks for a token again in another session, and says that a put was lost",
                 code == 0 and versions == [3, "lost", 3] and hub.count("TOKEN-PUT") == 1, f"exit {code}, {lines}, {hub.heard}")


def full(player, folder):
    """A store that cannot be read for a while: the question comes again after `after`, and not before."""
    address, due = f"ipc://{folder}/{player.name}-full", [0.0]

    def twist(hub, verb, body):
        if verb != "QUERY":
            return None
        if time.monotonic() < due[0]:
            hub.heard.append(("EARLY", {}))
        if hub.count("QUERY") > 2:
            return [("RESULT", {"id": body["id"], "records": [], "cursor": "aaaaaaaa-0"})]
        due[0] = time.monotonic() + 0.7
        return [("ERROR", {"code": "store", "reason": "the disk fails", "closed": False, "ref": body["id"], "after": 700})]

    hub = FakeHub(address, twist)
    asking = player.run(["query", json.dumps({"want": "records"})], {"HUB_DOOR": address, "HUB_INSTANCE": "fake"})
    code = asking.end()
    hub.end()
    player.check("asks again after `after` of ERROR store, and not before",
                 code == 0 and (hub.count("QUERY"), hub.count("EARLY")) == (3, 0), f"exit {code}, {hub.heard}, said {asking.errors}")


def otherName(player, folder):
    """The file libzmq.so.5 cannot be opened; the library has another name, as on other systems."""
    if player.language not in ("ruby", "perl", "java"):
        return
    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if "/libzmq" in line)
    libraries, address = f"{folder}/{player.name}-libraries", f"ipc://{folder}/{player.name}-name"
    os.mkdir(libraries)
    open(f"{libraries}/libzmq.so.5", "w").close()
    os.symlink(library, f"{libraries}/libzmq.so")
    hub, lines = FakeHub(address, lambda *_: None), []
    giving = player.run(["give", "1"], {"HUB_DOOR": address, "HUB_INSTANCE": "fake", "LD_LIBRARY_PATH": libraries}, lines.append, [json.dumps(RECORD)])
    code = giving.end()
    hub.end()
    player.check("finds libzmq under another name", code == 0 and len(lines) == 1, f"exit {code}, said {giving.errors}")


def unreachable(player, folder):
    """A launched plugin that cannot reach something it needs reports it with its exit code."""
    address = f"ipc://{folder}/{player.name}-gone"
    hub = FakeHub(address, lambda hub, verb, body: [welcome(settings={"label": "gone"})] if verb == "HELLO" else None, isForPlugins=True)
    plugin = player.run(["--run"], {"HUB_DOOR": address, "HUB_INSTANCE": "fake"})
    plugin.process.stdin.write("token\n")
    plugin.process.stdin.flush()
    code = plugin.end()
    hub.end()
    player.check("a plugin ends with 69 if it cannot reach something it needs", code == 69, f"exit {code}, said {plugin.errors}")


def cancelled(player, folder):
    """A person cancels a command of a launched plugin while it waits for STORED, in a language whose calls can be cancelled."""
    if player.language != "go":
        return
    address = f"ipc://{folder}/{player.name}-cancelled"

    def twist(hub, verb, body):
        if verb == "HELLO":
            return [welcome(settings={"label": "l"}), ("COMMAND", {"id": 7, "command": "add", "args": {"count": 5}})]
        if verb == "SAMPLES":
            return [("COMMAND", {"id": 7, "cancel": True})]

    hub = FakeHub(address, twist, isForPlugins=True)
    plugin = player.run(["--run"], {"HUB_DOOR": address, "HUB_INSTANCE": "fake"})
    plugin.process.stdin.write("token\n")
    plugin.process.stdin.flush()
    hub.until(lambda: hub.count("OUTCOME"), 60)
    plugin.process.stdin.close()
    code = plugin.end()
    hub.end()
    heard = [(verb, body) for verb, body in hub.heard if verb in ("PROGRESS", "OUTCOME")]
    player.check("a command that a person cancels ends its waiting calls", code == 0 and heard == [
        ("PROGRESS", {"id": 7, "done": 0, "total": 5}), ("OUTCOME", {"id": 7, "outcome": "cancelled"})],
        f"exit {code}, {heard}, said {plugin.errors}")


def played(player, folder):
    for play in (bell, pauses, lost, full, otherName, unreachable, cancelled):
        play(player, folder)


# With the real hub

def said(player, host, feed):
    """LIVE, EVENT and tokens, through the hub, as an instance that hub.conf names. Its follower is replaced meanwhile."""
    put = {"access_token": "a", "refresh_token": "b", "n": 0.1}
    calls = [
        ["live", {"type": "weight", "value": 72.5, "unit": "kg", "device": player.name}],
        ["event", {"event": "disconnected", "device": player.name, "severity": "warning", "text": "süß \U0001f34e"}],
        ["token", {"account": "me", "for": "use"}],
        ["putToken", {"account": "me", "expect": 0, "token": put}],
        ["putToken", {"account": "me", "expect": 0, "token": put}],
        ["token", {"account": "me", "for": "refresh"}],
        ["token", {"account": "me", "for": "refresh"}],
        ["token", {"account": "me", "for": "release", "failure": "auth", "reason": "invalid_grant", "version": 1}],
    ]
    calls = calls if player.isLibrary else calls[:3]
    lines = []
    calling = player.run(["calls", json.dumps(calls)], {"HUB_KEY": f"{host.folder}/{player.name}.key"}, lines.append)
    code = calling.end()
    answers = [line.get("error", line.get("answer")) for line in lines]
    holds = code == 0 and len(answers) == len(calls)
    if holds and not player.isLibrary:
        holds = answers == [True, True, "bridge"]
    elif holds:
        live, event, none, stored, refused, leased, held, released = answers
        holds = live is True and event is True and "token" not in none and none["version"] == 0 and stored["version"] == 1 \
            and refused == "field" and leased["token"] == put and leased["lease"] > 0 and held.get("held") and released["version"] == 1
    player.check("gets, puts, leases and releases a token" if player.isLibrary else "reports that hub bridge has no tokens", holds,
                 f"exit {code}, {lines}, said {calling.errors}")
    heard = {}
    while len(heard) < 2 and feed.poll(60_000):
        topic, _, body = feed.recv_multipart()
        if json.loads(body).get("device") == player.name:
            heard[topic.split(b"/")[0]] = (topic.decode(), json.loads(body))
    player.check("says LIVE and EVENT", set(heard) == {b"live", b"device"} and heard[b"live"][1]["value"] == 72.5
                 and heard[b"device"][0].endswith("/disconnected/") and heard[b"device"][1]["text"] == "süß \U0001f34e", heard)


def refused(player, lines, what, *words):
    code, errors = lines.end(), " ".join(lines.errors)
    player.check(what, code == 77 and all(word in errors for word in words), f"exit {code}, said {errors!r}")


def refusals(players, host):
    """Each library must learn that another program has replaced it, and that its key is void: while it follows, while it does not read, before it connects, and while the hub is away."""
    feed = zmq.Context.instance().socket(zmq.SUB)
    feed.linger = 0
    feed.subscribe("live/")
    feed.subscribe("device/")
    feed.connect(host.owner["HUB_FEED"])
    seen = lambda: host.say("status", "--json")  # a subscription is valid once the hub has read it, and each request is read later
    seen()

    def key(player):
        return ("the key of " if player.isLibrary else "") + f"far-{player.name}"

    def follow(player):
        lines = player.run(["follow", "weight"], {"HUB_KEY": f"{host.folder}/{player.name}.key"})
        lines.until(1)
        return lines

    def renew(player):
        code, key, error = host.say("keys", "new", f"far-{player.name}")
        if code:
            raise RuntimeError(error)
        with open(f"{host.folder}/{player.name}.key", "w") as file:
            file.write(key)

    def revoke(player):
        code, out, error = host.say("keys", "revoke", f"far-{player.name}")
        if code not in (0, 69):  # 69: the hub is away
            raise RuntimeError(out + error)

    for player in players:
        said(player, host, feed)
        if not player.isLibrary:
            continue  # any number of processes of hub bridge may have a name
        refused(player, player.following, "a follower whose place another has taken ends", "replaced")
    feed.close()
    following = {player: follow(player) for player in players}
    for player in players:
        revoke(player)
        refused(player, following[player], "a follower whose key is revoked ends", "forbidden", key(player))
        refused(player, follow(player), "a client that comes with a void key learns of it", "forbidden", key(player))
        renew(player)
    following = {player: follow(player) for player in players}
    for player in players:
        # If the client has not read the hub's last messages, they are lost with the connection.
        following[player].process.send_signal(signal.SIGSTOP)
        revoke(player)
        follow(player).end()
        following[player].process.send_signal(signal.SIGCONT)
        refused(player, following[player], "a follower that was busy while its key was revoked ends", "forbidden", key(player))
        renew(player)
    following = {player: follow(player) for player in players}
    host.stop()
    for player in players:
        revoke(player)
    host.start()
    for player in players:
        refused(player, following[player], "a follower whose key was revoked while the hub was away ends", "forbidden", key(player))
