#!/usr/bin/env python3
"""Restores the centre to a moment, as Docs/Central.md says, with real hubs and a follower. The base backup and the archived log are encrypted. After
the moment come records, corrections, a withdrawal with erasure, and then a mistake, which replication copies at once. After the restore the hubs
have to send the lost records again, and no others.   cluster on W python3 restore.py --hubs 3 --records 3000

The cluster must be up and prepared. Exit code 0: nothing lost, nothing doubled, no wrong version, the number that was sent again within its bound."""
import os, re, subprocess, sys, threading
from hubs import HERE, Hub, House, Study, args, eventually, judge, psycopg2, records

BACKUP = f"{args.folder}/backup"
FIRST = args.first + 2_000_000           # other persons than those of the ordeals
PAGE = 1000                              # records of a page of the hub's answer: if a record of a page differs, the whole page is sent
faults = []


def expect(what, holds):
    print(f"{'ok  ' if holds else 'NOT '} {what}", flush=True)
    if not holds:
        faults.append(what)


def run(*words, stdin=None):
    done = subprocess.run(words, capture_output=True, text=True, input=stdin)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)[:300]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


def cluster(*words, **more):
    return run(f"{HERE}/cluster", *words, **more)


def at(host, text, *values):
    """Runs one statement at one host, as its superuser."""
    c = psycopg2.connect(host=f"{args.folder}/n{host}", user="postgres", dbname="central")
    c.autocommit = True
    try:
        with c.cursor() as k:
            k.execute(text, values)
            return k.fetchall() if k.description else None
    finally:
        c.close()


def admin_of(host, *words):
    return subprocess.run([f"{args.build}/hub-central-admin", *words], check=True, capture_output=True, text=True,
                          env={**os.environ, "PGHOST": f"{args.folder}/n{host}", "PGUSER": "postgres"}).stdout


def settle(houses):
    for h in houses:
        eventually(f"{h.login} has delivered all", h.settled, args.limit)
        if h.failure:
            raise RuntimeError(f"{h.login}: {h.failure}")


def give(houses, start, count):
    threads = [threading.Thread(target=h.give, args=(start, count)) for h in houses]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    settle(houses)


def rows(house, host):
    return dict(at(host, "SELECT ident, (seq, value)::text FROM central.record JOIN central.hub USING (hub_no) WHERE login = %s", house.login))


def erased(house, host):
    return at(host, "SELECT count(*) FROM central.record JOIN central.hub USING (hub_no) WHERE login = %s AND kind = 'x'", house.login)[0][0]


def shown(host):
    """Counts the persons of these houses that the study sees; persons of other hubs are ignored."""
    return at(host, "SELECT count(*) FROM central.study_person JOIN central.consent USING (pseudonym) JOIN central.hub USING (hub_no) WHERE login LIKE 'hub_r1__'")[0][0]


def versions(house, host):
    return at(host, "SELECT versions FROM central.hub WHERE login = %s", house.login)[0][0]


def compared(house):
    """Counts the records that the plugin has sent in its comparisons so far, by its own log."""
    log = open(f"{house.folder}/log", errors="replace").read()
    return [int(n) for n in re.findall(r"records\.sent=(\d+)[^\n]*compared with the centre", log)]


def archive_and_back_up(leader):
    """Makes both as Docs/Central.md describes; a replica gives the base backup."""
    os.makedirs(f"{BACKUP}/wal", exist_ok=True)
    key = run("age-keygen", "-o", f"{BACKUP}/key.txt") if not os.path.exists(f"{BACKUP}/key.txt") else ""
    run("chown", "-R", "postgres", BACKUP)
    recipient = re.search(r"age1[a-z0-9]+", open(f"{BACKUP}/key.txt").read())[0]
    wal = f"{BACKUP}/wal/%f.age"
    cluster("ctl", "edit-config", "central", "--force", "-p", f"archive_command=age -r {recipient} < %p > {wal}.part && sync {wal}.part && mv {wal}.part {wal}")
    eventually("the leader archives", lambda: BACKUP in at(leader, "SHOW archive_command")[0][0])
    replica = next(n for n in "123" if n != leader)
    cluster("in", replica, "bash", "-o", "pipefail", "-c", f"pg_basebackup -h {args.folder}/n{replica} -U replicator -D - -Ft -X fetch -c fast | age -r {recipient} > {BACKUP}/central.tar.age")
    return replica


def restore(host, moment):
    data = f"{args.folder}/n{host}/pg"
    bin = "/usr/lib/postgresql/15/bin"
    cluster("in", host, "bash", "-o", "pipefail", "-c", f"rm -rf {data} && mkdir -m 0700 {data} && age -d -i {BACKUP}/key.txt {BACKUP}/central.tar.age | tar -xf - -C {data}")
    # The backup of a replica would follow the former leader. The empty recovery targets of Patroni's file would count as additional ones.
    cluster("in", host, "bash", "-c", f"rm -f {data}/standby.signal && touch {data}/recovery.signal && sed -i /^recovery_target/d {data}/postgresql.conf")
    server = subprocess.Popen([f"{HERE}/cluster", "in", host, f"{bin}/postgres", "-D", data, "-c", "listen_addresses=", "-c", "ssl=off", "-c", f"unix_socket_directories={args.folder}/n{host}",
                               "-c", "synchronous_standby_names=", "-c", "archive_mode=off", "-c", f"restore_command=age -d -i {BACKUP}/key.txt -o %p {BACKUP}/wal/%f.age",
                               "-c", f"recovery_target_time={moment}", "-c", "recovery_target_action=promote"],
                              stdin=subprocess.DEVNULL, stdout=open(f"{args.folder}/log/restore", "ab"), stderr=subprocess.STDOUT)

    def is_there():
        if server.poll() is not None:
            raise SystemExit(f"the restored server ended: {open(f'{args.folder}/log/restore').read()[-2000:]}")
        return at(host, "SELECT NOT pg_is_in_recovery()")[0][0]
    eventually("the centre is restored", is_there)
    return lambda: (cluster("in", host, f"{bin}/pg_ctl", "-D", data, "-m", "fast", "-w", "stop"), server.wait(60))


def main():
    houses = [House(n + 100) for n in range(1, args.hubs + 1)]
    study = None
    try:
        for h in houses:
            h.join()
        study = Study()
        stays, leaves = houses[:-1], houses[-1]
        part = args.records // 3
        give(houses, FIRST, part)
        leader = cluster("leader")
        replica = archive_and_back_up(leader)
        give(houses, FIRST + part, part)          # in the archived log, not in the base backup
        moment = at(leader, "SELECT clock_timestamp()::text")[0][0]
        kept = {h: rows(h, leader) for h in houses}
        give(stays, FIRST + 2 * part, part)       # lost with the restore, and so are corrections of records that stay
        for h in stays:
            with Hub("scale", door=h.door) as hub:
                hub.give([h.weight(k, 120 + k % 7) for k in range(FIRST, FIRST + 30)] + [{"kind": "retraction", "key": h.key(FIRST + part), "reason": "the dog"}], timeout=args.limit)
        settle(stays)
        # Erased in a house: one record that stands, one that was edited (if there is any), and one that was retracted, which no delivery reports.
        have = {r["key"]: r for r in records(stays[0])}
        stand = [r for r in (have[stays[0].key(k)] for k in range(FIRST + part, FIRST + 2 * part)) if r["kind"] != "retraction"]
        for r in (min(stand, key=lambda r: r["seq"] == r["number"]), have[stays[0].key(FIRST + part)]):
            stays[0].say("erase", str(r["number"]), "--yes")
        eventually("it is erased at the centre", lambda: erased(stays[0], leader) == 1)
        leaves.say("do", "central", "withdraw", "study=heart", "person=anna", "erase=true")
        admin_of(leader, "erase", "--keep-files")
        expect("withdrawn records are erased before the restore", rows(leaves, leader) == {})
        before = {h: rows(h, leader) for h in stays}
        was = {h: (versions(h, leader), compared(h)) for h in houses}
        at(leader, "SELECT pg_switch_wal()")
        at(leader, "TRUNCATE central.record")     # the mistake that the restore repairs
        last = at(leader, "SELECT pg_walfile_name(pg_switch_wal())")[0][0]
        eventually("the log is archived", lambda: os.path.exists(f"{BACKUP}/wal/{last}.age"))
        expect("the mistake is on the other hosts too", eventually("copied", lambda: at(replica, "SELECT count(*) = 0 FROM central.record")[0][0]))

        cluster("halt", *[n for n in "123" if n != leader], leader)
        stop = restore(replica, moment)
        expect(f"the centre is as it was at {moment}", all(rows(h, replica) == kept[h] for h in houses))
        restored = {h: versions(h, replica) for h in houses}
        expect("the restored study would have all of them", shown(replica) == len(houses))
        admin_of(replica, "incarnation", "--why", f"restored to {moment}")
        expect("it has none before its house is heard", shown(replica) == 0)
        stop()
        with open(f"{BACKUP}/patroni.yml", "w") as f:
            f.write(cluster("ctl", "show-config", "central"))
        cluster("ctl", "remove", "central", stdin="central\nYes I am aware\n")
        for n in "123":
            if n != replica:
                cluster("in", n, "rm", "-rf", f"{args.folder}/n{n}/pg")
        cluster("go", replica)
        eventually("the restored host leads", lambda: cluster("leader") == replica, 180)
        eventually("Patroni's settings are those of now", lambda: cluster("ctl", "edit-config", "central", "--force", "--replace", f"{BACKUP}/patroni.yml") or True)
        cluster("go", *[n for n in "123" if n != replica])
        cluster("whole")

        # A hub with nothing to deliver says hello every quarter of an hour; these have records to deliver.
        for h in stays:
            with Hub("scale", door=h.door) as hub:
                hub.give([h.weight(FIRST + 3 * part, 77)], timeout=args.limit)
        leaves.say("do", "central", "studies")
        for h in stays:
            eventually(f"{h.login} has compared", lambda: len(compared(h)) > len(was[h][1]), args.limit)
        settle(stays)
        eventually("the withdrawal is repeated", lambda: at(replica, "SELECT count(*) FROM central.erasure JOIN central.hub USING (hub_no) WHERE login = %s AND done IS NULL", leaves.login)[0][0] == 1)
        admin_of(replica, "erase", "--keep-files")
        expect("records withdrawn after the moment are erased again", rows(leaves, replica) == {})
        expect("the study has the houses that stay", shown(replica) == len(stays))
        expect("records that a house erased after the moment are erased again, like those retracted before it", erased(stays[0], replica) == 2)
        expect("the history has no version of the erased records", at(replica, "SELECT count(*) FROM central.history JOIN central.record x USING (hub_no, ident) WHERE x.kind = 'x'") == [(0,)])
        for h in stays:
            after = rows(h, replica)
            new = set(after) - set(before[h])
            expect(f"{h.login}: the record given since is there", len(new) == 1)
            after = {i: v for i, v in after.items() if i not in new}
            lost = sum(kept[h].get(i) != v for i, v in before[h].items())
            sent, stored = compared(h)[-1], versions(h, replica) - restored[h] - len(new)
            gone = erased(h, replica)             # by erased_v1, not by the comparison
            expect(f"{h.login}: {lost} versions of {len(before[h])} were lost and are back, as they were", after == before[h])
            expect(f"{h.login}: {stored} were stored again: each that was lost, once", stored == lost > 0)
            expect(f"{h.login}: {sent} were sent again: at most a page more than were lost", lost - gone <= sent <= lost + len(new) + PAGE)
        bad = sum(judge(h) for h in stays)
        expect("the houses and the centre have the same", bad == 0)
        expect("the follower has read the restored study from its beginning", study.judge() == 0)
    finally:
        if study:
            study.stop()
        for h in houses:
            h.stop()
    return 1 if faults else 0


sys.exit(main())
