#!/usr/bin/env python3
"""Hubs that deliver into the cluster while hosts die, and an oracle that checks afterwards whether every receipt was true.

    cluster on W python3 hammer.py --tls /tmp/hub-central/tls --hubs 3 --records 100000          deliver, then check
    … --check-only state.json                                                       check again later, e.g. after every host was restarted

Each hub is a process. It sends batches of --batch records by take_v1, in the order of their sequence, and counts a batch as
delivered when COMMIT has returned without a warning; after any other result it sends the batch again, to the host that leads by then.
Exit status 0: nothing lost, nothing doubled, no receipt untrue.
"""
import argparse, hashlib, json, multiprocessing, os, random, socket, sys, threading, time, uuid
from server import psycopg2

A = argparse.ArgumentParser()
A.add_argument("--hosts", default="10.77.0.1,10.77.0.2,10.77.0.3")
A.add_argument("--port", default="5432")
A.add_argument("--tls", required=True)
A.add_argument("--hubs", type=int, default=3)
A.add_argument("--records", type=int, default=20000)
A.add_argument("--batch", type=int, default=500)
A.add_argument("--first", type=int, default=1, help="the first sequence: a second run in the same store begins where the first ended")
A.add_argument("--pause", type=float, default=0.0, help="seconds between two batches of a hub")
A.add_argument("--patience", type=float, default=15, help="seconds to wait for an answer before the connection is given up")
A.add_argument("--limit", type=float, default=300, help="seconds after which a hub gives up")
A.add_argument("--trust-warnings", action="store_true", help="the mistake: take COMMIT with a warning for a receipt")
A.add_argument("--timeout-ms", type=int, default=0, help="the mistake: a statement_timeout that covers COMMIT")
A.add_argument("--epoch", default="k7qz2m5a")
A.add_argument("--save"), A.add_argument("--check-only"), A.add_argument("--events")
args = A.parse_args()

def note(text):
    line = f"{time.time():.3f} {text}"
    if args.events:
        with open(args.events, "a") as f: f.write(line + "\n")

def connect(login, hosts):
    c = psycopg2.connect(host=",".join(hosts), port=args.port, dbname="central", user=login, target_session_attrs="read-write",
        sslmode="verify-ca", sslrootcert=f"{args.tls}/ca.crt", sslcert=f"{args.tls}/{login}.crt", sslkey=f"{args.tls}/{login}.key",
        connect_timeout=2, keepalives_idle=3, keepalives_interval=2, keepalives_count=2, tcp_user_timeout=6000, application_name="hub-central")
    if args.timeout_ms:
        with c.cursor() as k: k.execute(f"SET statement_timeout = {args.timeout_ms}")
        c.commit()
    return c

def record(hub, seq):
    return {"i": str(uuid.UUID(bytes=hashlib.sha256(f"{hub} {seq}".encode()).digest()[:16])), "s": seq, "k": "q", "p": f"6f1c2a9e5b7d4c3{hub}",
            "t": "weight", "a": 1_700_000_000 + seq * 60, "o": 60, "v": 60 + (seq % 400) / 10}

def hub(number, out):
    try: deliver(number, out)
    except Exception as e:
        out.put({"hub": number, "acked": [], "worst": 0, "resent": 0, "warned": 0, "gaps": [], "seconds": 0, "done": False}); raise e

def deliver(number, out):
    login, hosts = f"hub_{number:08d}", args.hosts.split(",")
    acked, worst, resent, warned, batch, seq, c = [], 0.0, 0, 0, args.first, args.first, None
    started = last = time.time(); gaps = []
    def give_up(descriptor):
        try: socket.socket(fileno=os.dup(descriptor)).shutdown(socket.SHUT_RDWR)   # no CancelRequest, which would make the server answer
        except OSError: pass
    final = args.first + args.records - 1
    while seq <= final and time.time() - started < args.limit:
        first, end = seq, min(seq + args.batch, final + 1)
        records = [record(number, s) for s in range(first, end)]
        for r in records: r["a"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(r["a"]))
        body, batch, tries = json.dumps(records, separators=(",", ":")), batch + 1, 0
        while time.time() - started < args.limit:
            timer = None
            try:
                if c is None:
                    c = connect(login, hosts)
                    timer = threading.Timer(args.patience, give_up, (c.fileno(),)); timer.start()
                    with c.cursor() as k:
                        k.execute("SELECT central.hello_v1(%s, %s, 'hammer', now())", (f"hub{number}", args.epoch))
                        said = k.fetchone()[0]
                        if "refused" in said: raise RuntimeError(f"refused: {said}")
                    c.commit()
                    timer.cancel()
                timer = threading.Timer(args.patience, give_up, (c.fileno(),)); timer.start()
                with c.cursor() as k:
                    k.execute("SELECT central.take_v1(%s, %s, %s::jsonb, %s)", (args.epoch, batch, body, final - end + 1))
                    answer = k.fetchone()[0]
                c.notices.clear()
                c.commit()
                if c.notices and not args.trust_warnings:
                    warned += 1; note(f"hub {number} batch {batch}: {c.notices[0].strip()}"); raise psycopg2.OperationalError("warning at COMMIT")
                if "refused" in answer: raise RuntimeError(str(answer))
                break
            except psycopg2.Error as e:
                if e.pgcode and e.pgcode[:2] not in ("08", "25", "40", "53", "57"): raise       # our own fault, not one of a host
                tries += 1; resent += 1
                note(f"hub {number} batch {batch} try {tries}: {str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__}")
                bad = None
                if c is not None:           # a host that did not answer may believe that it leads, so it is asked last
                    bad = c.info.host
                    c.close()
                c = None
                random.shuffle(hosts); hosts.sort(key=lambda h: h == bad)
                time.sleep(min(0.1 * tries, 1) * random.uniform(0.5, 1))
            finally:
                if timer: timer.cancel()
        else: break
        now = time.time()
        if tries: note(f"hub {number} batch {batch}: in after {now - last:.1f} s"); gaps.append(round(now - last, 1))
        worst, last = max(worst, now - last), now
        acked.append((batch, first, end, answer["receipt"], answer["answer"]))
        seq = end
        if args.pause: time.sleep(args.pause)
    out.put({"hub": number, "acked": acked, "worst": worst, "resent": resent, "warned": warned, "gaps": gaps, "seconds": time.time() - started, "done": seq > final})

def check(state):
    bad = 0
    for h in state:
        login = f"hub_{h['hub']:08d}"
        for _ in range(100):
            try: c = connect(login, args.hosts.split(",")); break
            except psycopg2.Error: time.sleep(1)
        with c.cursor() as k:       # row-level security: each role sees only its own rows
            k.execute("SELECT ident::text, seq, value, extract(epoch FROM start_at) FROM central.record WHERE seq BETWEEN %s AND %s", (args.first, args.first + args.records - 1))
            have = {i: (s, v, int(a)) for i, s, v, a in k.fetchall()}
            k.execute("SELECT central.digest_v1(%s, %s)", (args.first, args.first + args.records - 1)); rows = k.fetchone()[0]["rows"]
        c.close()
        lost = wrong = doubled = 0
        for _, first, end, _, letters in h["acked"]:
            for s, letter in zip(range(first, end), letters):
                r = record(h["hub"], s); got = have.get(r["i"])
                if got is None: lost += 1
                elif got != (s, r["v"], r["a"]): wrong += 1
                if letter not in "sh": wrong += 1
        acked = sum(e - f for _, f, e, _, _ in h["acked"])
        seqs = [s for s, _, _ in have.values()]
        doubled = len(seqs) - len(set(seqs)) + (rows - len(have))
        extra = len(have) - acked
        print(f"hub {h['hub']}: {acked} receipts, {lost} lost, {doubled} doubled, {wrong} wrong, {extra} stored without a receipt; "
              f"{h['resent']} sent again, {h['warned']} warnings, longest wait {h['worst']:.1f} s, gaps {h['gaps']}, {acked / max(h['seconds'], 0.001):.0f}/s{'' if h['done'] else ', NOT DONE'}")
        bad += lost + doubled + wrong + (not h["done"])
    return bad

if args.check_only:
    state = json.load(open(args.check_only))
else:
    out = multiprocessing.Queue()
    ps = [multiprocessing.Process(target=hub, args=(n, out)) for n in range(1, args.hubs + 1)]
    for p in ps: p.start()
    state = sorted((out.get() for _ in ps), key=lambda h: h["hub"])
    for p in ps: p.join()
    if args.save: json.dump(state, open(args.save, "w"))
sys.exit(1 if check(state) else 0)
