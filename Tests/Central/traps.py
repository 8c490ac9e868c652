#!/usr/bin/env python3
"""Shows, on a prepared cluster, the answers of PostgreSQL that are no receipts (Docs/Central.md), and that the functions of the centre
give none of them. The leader loses its link, and rows that are then written on it are gone when it rejoins.   python3 traps.py"""
import os, subprocess, threading, time, unittest
from server import psycopg2

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.environ.get("CENTRAL_DIR", "/tmp/hub-central")
WAIT = 6          # longer than any answer that does not wait for a replica, and shorter than the time until another host leads


def cluster(*words):
    return subprocess.run([os.path.join(HERE, "cluster"), *words], stdout=subprocess.PIPE, text=True).stdout.strip()


class Statement(threading.Thread):
    """A statement on the leader through its own socket, which a cut link does not affect. `said` is the answer, `warned` has its warnings."""

    def __init__(self, leader, text, user="postgres", timeout=0):
        super().__init__(daemon=True)
        self.c = psycopg2.connect(host=f"{FOLDER}/n{leader}", user="postgres", dbname="central")
        self.c.autocommit = True
        self.k = self.c.cursor()
        self.k.execute("SET search_path = central")
        if user != "postgres":
            self.k.execute(f"SET SESSION AUTHORIZATION {user}")
        self.k.execute(f"SET statement_timeout = {timeout}")
        self.text, self.said, self.pid = text, None, self.c.info.backend_pid
        self.start()

    def run(self):
        try:
            self.k.execute(self.text)
            self.said = self.k.fetchall() if self.k.description else self.k.statusmessage
        except psycopg2.Error as e:
            self.said = None if e.pgcode in (None, "57P01", "57P02") else e.pgcode

    @property
    def warned(self):
        return any("WARNING" in n for n in self.c.notices)


class Traps(unittest.TestCase):
    def test_what_is_no_receipt(self):
        leader = cluster("leader")
        self.assertTrue(leader, "the cluster is not up")
        with psycopg2.connect(host=f"{FOLDER}/n{leader}", user="postgres", dbname="central") as c, c.cursor() as k:
            k.execute("DROP TABLE IF EXISTS central.trap; CREATE TABLE central.trap (id int PRIMARY KEY, v int); INSERT INTO central.trap VALUES (0, 0)")
            k.execute("INSERT INTO central.era (hub_no, era, epoch) SELECT hub_no, 1, 'traps' FROM central.hub WHERE login = 'hub_00000008' ON CONFLICT DO NOTHING")
            k.execute("UPDATE central.hub SET era = 1 WHERE login = 'hub_00000008' AND era = 0")
            k.execute("SELECT epoch FROM central.era JOIN central.hub USING (hub_no, era) WHERE login = 'hub_00000008'")
            epoch = k.fetchone()[0]
        cluster("cut", leader)
        try:
            timed = Statement(leader, "DO $$ BEGIN INSERT INTO trap VALUES (2, 1); COMMIT; END $$", timeout=500)
            cancelled = Statement(leader, "INSERT INTO trap VALUES (1, 1)")
            waits = Statement(leader, "UPDATE trap SET v = 1 WHERE id = 0")
            ask = Statement(leader, "SELECT 1")
            ask.join()
            while not (ask.k.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid = ANY (%s)", ([cancelled.pid, waits.pid],)) or ask.k.fetchone()[0] == 2):
                time.sleep(0.05)
            ask.k.execute("SELECT pg_cancel_backend(%s)", (cancelled.pid,))
            for s, said in ((timed, "DO"), (cancelled, "INSERT 0 1")):
                s.join(WAIT)
                self.assertEqual((s.said, s.warned), (said, True), "answered, with a warning alone: " + s.text)
            read = Statement(leader, "SELECT v FROM trap WHERE id = 1")
            nothing = Statement(leader, "INSERT INTO trap VALUES (1, 1) ON CONFLICT DO NOTHING")
            for s, said in ((read, [(1,)]), (nothing, "INSERT 0 0")):
                s.join(WAIT)
                self.assertEqual((s.said, s.warned), (said, False), "answered as if it held: " + s.text)
            ours = [Statement(leader, f"SELECT {f}", user="hub_00000008") for f in
                    (f"take_v1('{epoch}', 1, '[]')", "digest_v1(0, 9)", "hello_v1('hub8', '" + epoch + "', '', now())", "studies_v1()", "erasure_v1(1)", "withdraw_v1('heart', '6f1c2a9e5b7d4c38', false)")]
            for s in ours + [waits]:
                s.join(0.5)
                self.assertIsNone(s.said, "answered without a replica: " + s.text)
            for _ in range(600):
                now = cluster("leader")
                if now and now != leader:
                    break
                time.sleep(0.1)
            self.assertNotEqual(now, leader)
        finally:
            cluster("heal", leader)
        for _ in range(120):
            try:
                with psycopg2.connect(host=f"{FOLDER}/n{now}", user="postgres", dbname="central") as c, c.cursor() as k:
                    k.execute("SELECT array_agg(id ORDER BY id) FROM central.trap")
                    left = k.fetchone()[0]
                break
            except psycopg2.Error:
                time.sleep(0.5)
        self.assertEqual(left, [0], "a batch that was answered with a warning, read back and repeated is lost")


if __name__ == "__main__":
    unittest.main()
