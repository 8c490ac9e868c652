#!/usr/bin/env python3
"""A follower of a study, as Docs/Central.md describes it. Its connection is cut again and again, and it must still have every batch once.   python3 follower.py HUB-CENTRAL-ADMIN"""
import collections, json, os, random, select, shutil, sqlite3, subprocess, sys, tempfile, threading, time, unittest
from functions import ident, record
from server import BRIEF, Server, psycopg2

ADMIN = os.path.abspath(sys.argv.pop()) if __name__ == "__main__" and len(sys.argv) > 1 and os.path.exists(sys.argv[-1]) else "hub-central-admin"


class Follower:
    """The database of a study's reader. One transaction saves the rows and the place up to which they were read. It queries the study after it has
    connected and after a hint, and at no other time. `connect` gives a connection as the reader; `path` is its file."""

    def __init__(self, connect, path):
        self.connect, self.path, self.c = connect, path, None
        self.is_over, self.failure, self.looks, self.begun = False, None, collections.Counter(), 0
        self.interruption = None              # called once, in the middle of reading
        with sqlite3.connect(path) as d:
            # A version that comes twice is an error here, not a repeat to be ignored.
            d.executescript("CREATE TABLE IF NOT EXISTS place (incarnation int, horizon int);"
                            "CREATE TABLE IF NOT EXISTS person (pseudonym text PRIMARY KEY);"
                            "CREATE TABLE IF NOT EXISTS seen (record text, changed int, gone int, pseudonym text, value real, PRIMARY KEY (record, changed));")
            if not d.execute("SELECT 1 FROM place").fetchone():
                d.execute("INSERT INTO place VALUES (0, 0)")
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.is_over = True
        self.thread.join(60)
        if self.failure:
            raise self.failure

    def run(self):
        try:
            while not self.is_over:
                try:
                    self.follow()
                except psycopg2.Error as e:
                    # Temporary: the host is away or ends the session. Everything else is a fault.
                    if e.pgcode and e.pgcode[:2] not in ("08", "25", "40", "57"):
                        raise
                    self.looks["cut off"] += 1
                    time.sleep(0.05)
        except BaseException as e:
            self.failure = e

    def follow(self):
        c = self.connect()
        try:
            with c, c.cursor() as k:
                k.execute("LISTEN central_live")      # before the first look, so that later changes are notified
            self.c = c
            self.look(c, "connected")
            while not self.is_over:
                if not select.select([c], [], [], 0.5)[0]:
                    continue
                c.poll()
                hints = len(c.notifies)
                c.notifies.clear()
                if hints:
                    self.look(c, "hint")
        finally:
            c.close()

    def look(self, c, why):
        c.notices.clear()
        with c.cursor() as k:
            k.execute("SELECT central.incarnation_v1(), central.horizon_v1()")
            incarnation, horizon = k.fetchone()
        c.commit()
        if c.notices:
            raise psycopg2.OperationalError("a COMMIT with a warning: nothing was learned")
        d = sqlite3.connect(self.path)
        try:
            with d:
                known, place = d.execute("SELECT * FROM place").fetchone()
                if known != incarnation:
                    d.execute("DELETE FROM seen")
                    d.execute("DELETE FROM person")
                    place = 0
                with c.cursor() as k:
                    k.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")      # persons and records of the same moment
                    k.execute("SELECT pseudonym::text FROM central.study_person")
                    there = {r[0] for r in k.fetchall()}
                known = {r[0] for r in d.execute("SELECT pseudonym FROM person")}
                for pseudonym in known - there:
                    d.execute("DELETE FROM seen WHERE pseudonym = ?", (pseudonym,))
                    d.execute("DELETE FROM person WHERE pseudonym = ?", (pseudonym,))
                for pseudonym in there - known:
                    d.execute("INSERT INTO person VALUES (?)", (pseudonym,))
                    self.read(c, d, "changed < %s AND pseudonym = %s", place, pseudonym)
                self.read(c, d, "changed >= %s AND changed < %s", place, horizon)
                c.commit()
                d.execute("UPDATE place SET incarnation = ?, horizon = ?", (incarnation, horizon))
        finally:
            d.close()
        self.looks[why] += 1

    def read(self, c, d, where, *values):
        with c.cursor("page") as k:                   # a cursor of the server, because the connection is also cut between pages
            k.itersize = 60
            k.execute(f"SELECT record::text, changed, gone, pseudonym::text, value FROM central.study_change WHERE {where} ORDER BY changed", values)
            for row in k:
                d.execute("INSERT INTO seen VALUES (?, ?, ?, ?, ?)", row)
                self.begun += 1
                if self.interruption and self.begun % 67 == 0:
                    interrupt, self.interruption = self.interruption, None
                    interrupt()

    def has(self, text, *values):
        d = sqlite3.connect(self.path)
        try:
            return d.execute(text, values).fetchall()
        finally:
            d.close()

    def has_all(self, rows):
        """Returns whether it has the same rows as the study: record, changed, pseudonym, value."""
        return not self.failure and self.newest() == {r: tuple(rest) for r, *rest in rows}

    def newest(self):
        """Returns the version of each record that came last; records that are gone are left out."""
        last = {}
        for r, changed, gone, pseudonym, value in self.has("SELECT * FROM seen ORDER BY changed"):
            last[r] = None if gone else (changed, pseudonym, value)
        return {r: v for r, v in last.items() if v}


class Hub:
    """Gives batches one after the other, and repeats each until it is confirmed. Sometimes it begins a batch and rolls it back first."""

    def __init__(self, s, number, size):
        self.s, self.login, self.size, self.failure = s, f"hub_f{number}", size, None
        self.chance = random.Random(number)

    def run(self, batches):
        try:
            for batch in batches:
                records = json.dumps([record(f"{self.login}/{batch}/{i}", batch * 1000 + i, 60 + i / 8, person=self.login) for i in range(self.size)])
                while not self.give(batch, records):
                    time.sleep(0.05)
        except Exception as e:
            self.failure = e

    def give(self, batch, records):
        c = None
        try:
            c = self.s.connect(self.login)
            with c.cursor() as k:
                if self.chance.random() < 0.3:
                    k.execute("SELECT central.take_v1('e1', %s, %s)", (batch, records))
                    c.rollback()
                k.execute("SELECT central.take_v1('e1', %s, %s)", (batch, records))
            c.commit()
            return True
        except psycopg2.Error as e:
            if e.pgcode and e.pgcode[:2] not in ("08", "25", "40", "57"):
                raise
            return False
        finally:
            if c:
                c.close()


class Following(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hub-follow-")
        self.addCleanup(shutil.rmtree, self.folder)

    def centre(self, hubs, **more):
        s = Server(**more)
        self.addCleanup(s.__exit__)
        names = [f"hub_f{n}" for n in range(1, hubs + 1)]
        for name in names:
            s.hub(name)
        s.study("live", ["weight"], *names)
        for name in names:
            s.call(name, "hello_v1(%s, 'e1', '', now())", name)
            s.call(name, "consent_v1('live', %s, '{weight}', '2026-01-01', NULL, NULL)", name)
        return s

    def watch(self, s):
        """Runs hub-central-admin sign --watch, which sends the hints."""
        subprocess.run([ADMIN, "ca", "new"], cwd=self.folder, check=True, capture_output=True)
        p = subprocess.Popen([ADMIN, "sign", "--watch"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, "PGHOST": s.folder, "PGUSER": "postgres", "PGPORT": str(s.port)})
        self.addCleanup(p.wait)
        self.addCleanup(p.terminate)
        return p

    def until(self, what, body):
        end = time.time() + 120
        while not body():
            self.assertLess(time.time(), end, what)
            time.sleep(0.02)

    def test_a_follower_that_is_cut_off_again_and_again_has_every_batch_once(self):
        s = self.centre(3)
        self.watch(s)
        f = Follower(lambda: s.connect("study_live"), f"{self.folder}/study.sqlite").start()
        hubs = [Hub(s, n, size=50) for n in (1, 2, 3)]

        def crash():
            s.stop("immediate")                        # as kill -9: what was not confirmed is gone, and so are its numbers
            s.start()
        end_session = lambda: s.do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'study_live'")
        parts = 3 if BRIEF else 9
        for part in range(parts):
            f.interruption = (None, end_session, crash)[part % 3]
            threads = [threading.Thread(target=h.run, args=(range(part * 5 + 1, part * 5 + 6),), daemon=True) for h in hubs]
            for t in threads:
                t.start()
            for t in threads:
                t.join(120)
            self.assertFalse(any(t.is_alive() for t in threads) or any(h.failure for h in hubs), [h.failure for h in hubs])
            self.until("the follower has all of it", lambda: f.failure or f.has("SELECT count(*) >= ? FROM seen", (part + 1) * 750) == [(1,)])
            self.assertIsNone(f.interruption)
        f.stop()
        here = {r: (changed, pseudonym, value) for r, changed, pseudonym, value in s.do("SELECT record::text, changed, pseudonym::text, value FROM central.study_record", user="study_live")}
        self.assertEqual(f.newest(), here)
        self.assertEqual(f.has("SELECT count(*), count(DISTINCT record) FROM seen"), [(750 * parts, 750 * parts)])
        # A batch is one transaction, so all its records have the same position.
        self.assertEqual(f.has("SELECT count(*), min(n), max(n) FROM (SELECT count(*) AS n FROM seen GROUP BY changed)"), [(15 * parts, 50, 50)])
        self.assertGreaterEqual(f.looks["cut off"], 2 * parts // 3)
        self.assertGreaterEqual(f.looks["hint"], parts // 3)
        self.assertGreater(f.begun, 750 * parts)
        print(f"looks: {dict(f.looks)}; {f.begun} rows read for {750 * parts}", flush=True)

    def test_no_place_is_above_what_a_server_that_comes_back_counts_from(self):
        """A rolled-back transaction leaves no trace on the disk, so its number could be given again below the place."""
        s = self.centre(1, settings=["wal_writer_delay = 10s"])
        for batch in range(1, 6):
            c = s.connect("hub_f1")
            for _ in range(3):
                c.cursor().execute("SELECT central.take_v1('e1', %s, %s)", (batch, json.dumps([record("given up", 9000 + batch, person="hub_f1")])))
                c.rollback()
            c.close()
            place = s.call("study_live", "horizon_v1()")
            s.stop("immediate")
            s.start()
            s.call("hub_f1", "take_v1('e1', %s, %s)", batch, json.dumps([record(str(batch), batch, person="hub_f1")]))
            self.assertGreaterEqual(s.do("SELECT max(changed) FROM central.study_change", user="study_live")[0][0], place)

    def test_a_version_that_was_taken_back_is_told_and_a_restored_centre_is_read_from_its_beginning(self):
        s = self.centre(1)
        f = Follower(lambda: s.connect("study_live"), f"{self.folder}/study.sqlite")
        look = lambda: f.look(s.connect("study_live"), "asked")
        take = lambda batch, *r: s.call("hub_f1", "take_v1('e1', %s, %s)", batch, json.dumps(r))
        take(1, record("a", 1, 70, person="hub_f1"), record("b", 2, 71, person="hub_f1"))
        look()
        take(2, record("a", 3, 72, person="hub_f1"), record("b", 4, kind="r"))
        look()
        look()
        self.assertEqual([v[2] for v in f.newest().values()], [72])
        self.assertEqual(f.has("SELECT count(*) FROM seen"), [(4,)])
        # After a restore to before the second batch, transactions are counted from there.
        before = f.has("SELECT horizon FROM place")
        s.do("INSERT INTO central.incarnation (no, why) VALUES (2, 'a test')")
        look()
        self.assertEqual(f.newest(), {}, "the house has not said its consent since")
        s.call("hub_f1", "consent_v1('live', %s, '{weight}', '2026-01-01', NULL, NULL)", "hub_f1")
        look()
        self.assertEqual([v[2] for v in f.newest().values()], [72])
        self.assertEqual(f.has("SELECT count(*) FROM seen"), [(2,)])
        self.assertGreater(f.has("SELECT horizon FROM place"), before)

    def test_who_withdraws_is_dropped_and_who_agrees_anew_is_read_from_the_beginning(self):
        s = self.centre(2)
        f = Follower(lambda: s.connect("study_live"), f"{self.folder}/study.sqlite")
        look = lambda: f.look(s.connect("study_live"), "asked")
        for hub, value in (("hub_f1", 70), ("hub_f2", 80)):
            s.call(hub, "take_v1('e1', 1, %s)", json.dumps([record("a", 1, value, person=hub)]))
        look()
        first = {pseudonym for _, pseudonym, _ in f.newest().values()}
        s.call("hub_f1", "withdraw_v1('live', 'hub_f1', false)")
        look()
        self.assertEqual([v[2] for v in f.newest().values()], [80])
        s.call("hub_f1", "consent_v1('live', 'hub_f1', '{weight}', '2026-02-01', NULL, NULL)")
        look()
        look()
        self.assertEqual(sorted(v[2] for v in f.newest().values()), [70, 80])
        self.assertEqual(len({pseudonym for _, pseudonym, _ in f.newest().values()} - first), 1)

    def test_hints_come_with_what_is_new_and_end_with_it(self):
        s = self.centre(1)
        self.watch(s)
        c = s.connect("study_live")
        c.autocommit = True
        c.cursor().execute("LISTEN central_live")

        def passes(n):
            """Waits until the desk's program has queried n times, counted by the times of its last query."""
            seen = set()
            while len(seen) < n:
                seen |= set(s.do("SELECT query_start FROM pg_stat_activity WHERE application_name = 'hub-central-admin' AND query LIKE '%%snapshot%%'"))
                time.sleep(0.1)

        passes(4)
        for n in (1, 2):
            c.poll()
            c.notifies.clear()
            s.call("hub_f1", "take_v1('e1', %s, %s)", n, json.dumps([record(str(n), n, person="hub_f1")]))
            passes(6)
            c.poll()
            self.assertIn(len(c.notifies), (1, 2), "one for the batch, and one where another transaction came between")


if __name__ == "__main__":
    unittest.main()
