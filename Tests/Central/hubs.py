#!/usr/bin/env python3
"""Real hubs with the real plugin: they are enrolled and give consent, get weights, corrections and retractions, and are killed with their plugins
while hosts of the centre end and a follower reads the study. Then an oracle compares the hubs' stores with the centre. Started by `ordeal` with DELIVER=hubs.py, on the client host.

    cluster on W python3 hubs.py --hubs 3 --records 100000

Exit code 0: nothing lost, nothing doubled, no wrong version, every receipt of the ledgers true, the follower has the same records as the study. A second call continues with the existing hubs."""
import argparse, hashlib, json, os, random, subprocess, sys, threading, time, uuid
from follower import Follower
from server import ROOT, psycopg2
sys.path.insert(0, os.path.join(ROOT, "Clients/Python"))
from health_hub import Hub  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
A = argparse.ArgumentParser()
A.add_argument("--build", default=os.environ.get("BUILD", os.path.join(ROOT, ".build/debug")))
A.add_argument("--folder", default=os.environ.get("CENTRAL_DIR", "/tmp/hub-central"))
A.add_argument("--hosts", default="10.77.0.1,10.77.0.2,10.77.0.3")
A.add_argument("--hubs", type=int, default=3)
A.add_argument("--records", type=int, default=20000)
A.add_argument("--batch", type=int, default=500)
A.add_argument("--first", type=int, default=1, help="a second run gives others than the first")
A.add_argument("--pause", type=float, default=0.5, help="seconds between two batches that a hub is given")
A.add_argument("--limit", type=float, default=300, help="seconds after which a hub that is not done is called so")
A.add_argument("--kill", type=float, default=12, help="seconds between two kills of a hub or a plugin; 0: none")
A.add_argument("--seed", type=int, default=1)
A.add_argument("--events"), A.add_argument("--tls"), A.add_argument("--save")
args = A.parse_args()
CA = ["--ca", f"{args.folder}/tls/ca.crt", "--ca-key", f"{args.folder}/tls/ca.key"]


def note(text):
    if args.events:
        with open(args.events, "a") as f:
            f.write(f"{time.time():.3f} {text}\n")


def admin(*words):
    done = subprocess.run([f"{HERE}/cluster", "admin", *words], capture_output=True, text=True, env={**os.environ, "BUILD": args.build})
    if done.returncode:
        raise RuntimeError(f"hub-central-admin {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def eventually(what, body, seconds=120):
    """Waits until the body returns true; otherwise fails with its last value."""
    end, last = time.time() + seconds, None
    while time.time() < end:
        try:
            last = body()
            if last:
                return last
        except (RuntimeError, psycopg2.Error, subprocess.SubprocessError) as e:
            last = e
        time.sleep(0.3)
    raise RuntimeError(f"{what}: {last}")


class House:
    """A hub with one person, and the records given to it."""

    def __init__(self, number):
        self.number, self.login = number, f"hub_r{number}"
        self.folder = f"{args.folder}/hubs/{number}"
        self.door = f"ipc://{self.folder}/run/door"
        self.is_new = not os.path.exists(f"{self.folder}/joined")
        os.makedirs(self.folder, exist_ok=True)
        if self.is_new:
            with open(f"{self.folder}/hub.conf", "w") as f:
                f.write(f'[hub]\ndata = "{self.folder}/data"\nrun = "{self.folder}/run"\nlog_level = "info"\n[person.anna]\nzone = "Europe/Berlin"\n'
                        f'[plugin.central]\nexecutable = "{args.build}/hub-central"\n')
        self.process, self.is_over, self.must_end, self.given, self.failure = None, False, False, 0, None
        self.start()

    def start(self):
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen([f"{args.build}/hub", "run", "--config", f"{self.folder}/hub.conf"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def say(self, *words):
        done = subprocess.run([f"{args.build}/hub", *words], capture_output=True, text=True, timeout=60, env={**os.environ, "HUB_CONF": f"{self.folder}/hub.conf"})
        if done.returncode:
            raise RuntimeError(f"hub {' '.join(words[:3])}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def status(self):
        # Its exit code says whether all is well, which is not required here.
        done = subprocess.run([f"{args.build}/hub", "status", "--json"], capture_output=True, text=True, timeout=60, env={**os.environ, "HUB_CONF": f"{self.folder}/hub.conf"})
        return json.loads(done.stdout) if done.stdout.startswith("{") else None

    def join(self):
        """Enrols the hub and gives Anna's consent."""
        self.enrol()
        if self.is_new:
            self.agree()
            open(f"{self.folder}/joined", "w").close()

    def enrol(self):
        """Enrols the hub by an invitation; the desk signs the request meanwhile."""
        eventually("the plugin runs", lambda: any(p["name"] == "central" and p["alive"] for p in (self.status() or {}).get("plugins", [])))
        if self.is_new:
            line = json.loads(admin("invite", self.login, "--study", "heart", "--hosts", args.hosts, "--json"))["line"]
            eventually("the request is there", lambda: self.say("do", "central", "enrol", f"invite={line}"))
            admin("sign", *CA)
            eventually("enrolled", lambda: "enrolled" in self.say("do", "central", "enrol", "--json"))

    def agree(self):
        self.say("do", "central", "consent", "study=heart", "person=anna", "types=weight", "since=2000-01-01")

    def give(self, start=args.first, count=args.records):
        """Gives weights in batches. Corrects some records of every fourth batch, and retracts one."""
        self.is_over = False
        try:
            with Hub("scale", door=self.door) as hub:
                last, final = start, start + count
                for first in range(start, final, args.batch):
                    if self.must_end:
                        raise RuntimeError(f"not done in {args.limit:.0f} s: given {self.given} of {count}")
                    keys = range(first, min(first + args.batch, final))
                    records = [self.weight(k, 60 + k % 400 / 10) for k in keys]
                    hub.give(records, timeout=args.limit)
                    if first // args.batch % 4 == 3:
                        again = random.sample(range(last, first), min(20, first - last)) if first > last else []
                        hub.give([self.weight(k, 90 + k % 100 / 8) for k in again], timeout=args.limit)
                        if again:
                            hub.give([{"kind": "retraction", "key": self.key(again[0]), "reason": "the dog"}], timeout=args.limit)
                    self.given += len(records)
                    time.sleep(args.pause)
        except Exception as e:                       # reported at the end
            self.failure = f"{type(e).__name__}: {e}"
        self.is_over = True

    def key(self, k):
        return f"{k:012d}"

    def weight(self, k, value):
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1_600_000_000 + k * 60))
        return {"type": "weight", "value": value, "unit": "kg", "start": f"{at}+01:00", "key": self.key(k)}

    def harm(self, chance):
        """Kills the hub, which ends its plugins too, or the plugin alone (kill -9)."""
        if chance.random() < 0.5:
            note(f"{self.login}: kill -9 of the hub")
            self.process.kill()
            self.process.wait()
            self.start()
            return
        plugin = next((p for p in (self.status() or {}).get("plugins", []) if p["name"] == "central"), {})
        if plugin.get("pid"):
            note(f"{self.login}: kill -9 of the plugin")
            try:
                os.kill(plugin["pid"], 9)
            except ProcessLookupError:
                pass

    def settled(self):
        sinks = [s for s in (self.status() or {}).get("sinks", []) if s["instance"] == "central"]
        return sinks and all(s["pending"] == 0 and s["retrying"] == 0 for s in sinks)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def ident(record):
    """The identity as the plugin computes it: each part is preceded by its length."""
    source = record["source"]
    parts = ["sample", source["plugin"], source.get("device"), source.get("account"), record["key"]]
    text = " ".join("-" if p is None else f"{len(p.encode())}:{p}" for p in parts)
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16]))


def judge(house):
    """Returns the differences between the hub's store and the centre, and the untrue receipts. The centre need not know a batch of an earlier
    incarnation any more, because the records may have been sent again in another batch."""
    have = eventually("the hub's records", lambda: records(house))
    there, hub_no, batch, incarnation = eventually("the centre's records", lambda: centre(house))
    lost = wrong = untrue = 0
    # The hub has no identity of erased records any more, but the same number as the centre.
    nameless = [r for r in have if r["key"].startswith("~erased-")]
    wrong += len(nameless) != sum(got[1] == "x" for got in there.values())
    have = [r for r in have if r not in nameless]
    there = {i: got for i, got in there.items() if got[1] != "x"}
    for r in have:
        i, gone = ident(r), r["kind"] == "retraction"
        got = there.pop(i, None)
        if got is None:
            lost += not gone                        # a record that was never given need not be retracted
        elif gone:
            wrong += got[1] != "r" or got[2] is not None
        else:
            at = int(time.mktime(time.strptime(r["start"][:19], "%Y-%m-%dT%H:%M:%S"))) - 3600
            wrong += got[:3] != [r["seq"], "q", r["value"]] or got[3] != at
    for r in random.sample([r for r in have if r["kind"] != "retraction"], min(20, len(have))):
        story = json.loads(house.say("trace", str(r["number"]), "--json"))
        said = [d for d in story["deliveries"] if d["sink"].startswith("central/")]
        receipt = (said[0].get("confirmed") or {}).get("receipt", "") if said else ""
        parts = receipt[1:].split("/") if receipt.startswith("c") else []
        untrue += not (len(parts) == 3 and 1 <= int(parts[0]) <= incarnation and int(parts[1]) == hub_no and (int(parts[0]) < incarnation or int(parts[2]) <= batch) and said[0]["state"] == "delivered")
    refused = sum(s.get("refused", 0) for s in (house.status() or {}).get("sinks", []))
    print(f"{house.login}: {len(have)} records in the house, {lost} lost, {len(there)} that the house does not have, {wrong} wrong, {untrue} untrue receipts of 20, {refused} refused"
          f"{', NOT DONE: ' + house.failure if house.failure else ''}", flush=True)
    return lost + wrong + untrue + len(there) + refused + bool(house.failure)


def centre(house):
    """Returns the house's number, its newest batch and the centre's incarnation, from the host that leads now."""
    n = subprocess.run([f"{HERE}/cluster", "leader"], capture_output=True, text=True).stdout.strip()
    c = psycopg2.connect(host=f"{args.folder}/n{n}", user="postgres", dbname="central")
    with c, c.cursor() as k:
        k.execute("SELECT ident::text, seq, kind::text, value, extract(epoch FROM start_at)::bigint FROM central.record JOIN central.hub USING (hub_no) WHERE login = %s", (house.login,))
        there = {i: rest for i, *rest in k.fetchall()}
        k.execute("SELECT hub_no, batch, (SELECT max(no) FROM central.incarnation) FROM central.hub WHERE login = %s", (house.login,))
        got = there, *k.fetchone()
    c.close()
    return got


def records(house):
    with Hub("oracle", door=house.door, mode="once") as hub:
        return list(hub.records(types=["weight"], since=f"{hub.welcome['epoch']}-0"))


class Study:
    """A follower of the study on the host that leads, which keeps its place throughout, and the desk's program, which sends the hints."""

    def __init__(self):
        self.watch = subprocess.Popen([f"{args.build}/hub-central-admin", "sign", "--watch", *CA], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      env={**os.environ, "PGHOST": ",".join(f"{args.folder}/n{n}" for n in "123"), "PGUSER": "postgres"})
        self.follower = Follower(self.connect, f"{args.folder}/hubs/study.sqlite").start()

    def connect(self):
        return psycopg2.connect(host=args.hosts, port=5432, dbname="central", user="study_heart", password="only-for-tests", target_session_attrs="read-write", sslmode="verify-ca",
                                sslrootcert=f"{args.folder}/tls/ca.crt", connect_timeout=2, keepalives_idle=3, keepalives_interval=2, keepalives_count=2, tcp_user_timeout=6000)

    def ask(self, text):
        c = self.connect()
        try:
            with c, c.cursor() as k:
                k.execute(text)
                return k.fetchall()
        finally:
            c.close()

    def has_come(self):
        """Returns whether it has read beyond the newest change. A full comparison meanwhile would slow the reading down."""
        return bool(self.follower.failure) or self.follower.has("SELECT horizon FROM place")[0][0] > self.ask("SELECT coalesce(max(changed), 0) FROM central.study_change")[0][0]

    def has_all(self):
        return bool(self.follower.failure) or self.follower.has_all(self.ask("SELECT record::text, changed, pseudonym::text, value FROM central.study_record"))

    def judge(self):
        """Returns 0 if the follower eventually has the same records as the study."""
        try:
            eventually("the follower has read the newest change", self.has_come, 240)
            eventually("the follower has the same records as the study", self.has_all)
            self.follower.stop()
        except Exception as e:
            print(f"the follower: {type(e).__name__}: {e}", flush=True)
            return 1
        print(f"the follower has all {len(self.follower.newest())} records of the study; looks: {dict(self.follower.looks)}", flush=True)
        return 0

    def stop(self):
        self.follower.is_over = True
        self.watch.terminate()
        self.watch.wait()


os.environ["TZ"] = "UTC"
time.tzset()
random.seed(args.seed)
if __name__ == "__main__":
    houses = [House(n) for n in range(1, args.hubs + 1)]
    bad, study = 1, None
    try:
        for h in houses:
            h.join()
        study = Study()
        begin, chance = time.time(), random.Random(args.seed)
        threads = [threading.Thread(target=h.give, daemon=True) for h in houses]
        for t in threads:
            t.start()
        harmed = time.time()
        while not all(h.is_over for h in houses) and time.time() - begin < args.limit:
            time.sleep(0.5)
            if args.kill and time.time() - harmed > args.kill:
                chance.choice(houses).harm(chance)
                harmed = time.time()
        given = time.time() - begin
        # A record that is still being given now would look doubled.
        for h in houses:
            h.must_end = True
        for h, t in zip(houses, threads):
            t.join(60)
            h.failure = h.failure or (None if h.is_over else "a batch is given without an end")
        for h in houses:
            eventually(f"{h.login} has delivered all", h.settled, args.limit)
        print(f"given in {given:.0f} s, all delivered after {time.time() - begin:.0f} s: {sum(h.given for h in houses) / (time.time() - begin):.0f} records/s", flush=True)
        bad = sum(judge(h) for h in houses) + study.judge()
    finally:
        for h in houses:
            h.stop()
        if study:
            study.stop()
    sys.exit(1 if bad else 0)
