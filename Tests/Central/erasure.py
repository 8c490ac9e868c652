#!/usr/bin/env python3
"""Searches every file of the database for bytes of erased values: tables, indices, history, catalogues, logs.   python3 erasure.py [ADMIN]

ADMIN is hub-central-admin; without it this program calls the functions itself. The write-ahead log is searched separately: it still has these bytes, as Docs/Central.md says."""
import json, os, struct, subprocess, sys, unittest
from functions import ANNA, BEN, record
from server import Server

ADMIN = sys.argv.pop() if len(sys.argv) > 1 and os.path.exists(sys.argv[-1]) else None
VALUE = 71.0390625                      # exact as a double, and improbable elsewhere
BYTES = [struct.pack("<d", VALUE), b"71.0390625", b"leaves-no-trace"]


def found(folder, skip):
    """Returns the files below the folder that contain one of the searched values, except those in `skip`."""
    hits = []
    for place, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f not in skip]
        for name in files:
            path = os.path.join(place, name)
            if not os.path.isfile(path):             # the socket
                continue
            with open(path, "rb") as f:
                data = f.read()
            hits += [(os.path.relpath(path, folder), b) for b in BYTES if b in data]
    return hits


class Erasure(unittest.TestCase):
    def test_no_byte_of_what_was_erased_is_in_any_file(self):
        with Server(settings=["autovacuum = off"]) as s:
            s.hub("hub_e")
            s.study("one", ["weight"], "hub_e")
            s.call("hub_e", "hello_v1('e', 'e1', '', now())")
            for person in (ANNA, BEN):
                s.call("hub_e", "consent_v1('one', %s, '{weight}', '2026-01-01', NULL, NULL)", person)
            take = lambda *r: s.call("hub_e", "take_v1('e1', 1, %s)", json.dumps(r))["answer"]
            seq = iter(range(1, 10_000))
            private = dict(w="leaves-no-trace", b={"method": "leaves-no-trace"})
            for _ in range(3):         # versions, so that the history has the value
                self.assertEqual(take(*[record(f"anna{i}", next(seq), VALUE, **private) for i in range(300)]), "s" * 300)
                self.assertEqual(take(*[record(f"ben{i}", next(seq), 60 + i / 8, person=BEN) for i in range(300)]), "s" * 300)
            self.assertEqual(take(record("house", next(seq), VALUE, person=BEN, **private)), "s")
            self.assertEqual(take(record("house", next(seq), VALUE, person=BEN, **private)), "s")
            back = next(seq)           # retracted first, and erased later
            self.assertEqual(take(record("back", back, VALUE, person=BEN, **private)), "s")
            self.assertEqual(take(record("back", next(seq), VALUE, person=BEN, n=back, **private)), "s")
            s.do("ANALYZE")            # statistics of the planner keep no values
            s.do("CHECKPOINT")
            self.assertTrue(found(s.folder, {"pg_wal"}), "the search finds values before they are erased")

            self.assertEqual(take(record("house", next(seq), kind="x")), "s")
            taken = next(seq)
            self.assertEqual(take(record("back", taken, kind="r", n=back)), "s")
            self.assertEqual(s.call("hub_e", "erased_v1('e1', %s, %s)", [back], [taken]), {"rows": 1})
            no = s.call("hub_e", "withdraw_v1('one', %s, true)", ANNA)["erasure"]
            if ADMIN:
                done = subprocess.run([ADMIN, "erase", "--json"], capture_output=True, text=True, env={**os.environ, "PGHOST": s.folder, "PGUSER": "postgres", "PGPORT": str(s.port)})
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                s.do("CALL central.erase_v1()")
                for place, xid, ready in s.do("SELECT place, xid, ready FROM central.scrub_due"):
                    self.assertTrue(ready, place)
                    s.do(f"VACUUM FULL {place}")
                    s.do("SELECT central.scrubbed_v1(%s, %s)", (place, xid))
            said = s.call("hub_e", "erasure_v1(%s)", no)
            self.assertEqual((said["state"], said["rows"], said["left"]), ("done", 900, 0))
            self.assertIsNotNone(said["files"])
            s.do("ANALYZE")
            s.do("CHECKPOINT")
            self.assertEqual(found(s.folder, {"pg_wal"}), [])
            self.assertEqual(s.do("SELECT count(*) FROM central.record WHERE value IS NOT NULL"), [(300,)])
            self.assertTrue(found(os.path.join(s.folder, "pg", "pg_wal"), set()), "the log has it, as Docs/Central.md says")

    def test_a_file_is_left_while_something_could_still_see_what_was_deleted(self):
        with Server() as s:
            s.hub("hub_e")
            s.study("one", ["weight"], "hub_e")
            s.call("hub_e", "hello_v1('e', 'e1', '', now())")
            s.call("hub_e", "consent_v1('one', %s, '{weight}', '2026-01-01', NULL, NULL)", ANNA)
            s.call("hub_e", "take_v1('e1', 1, %s)", json.dumps([record("a", 1, VALUE)]))
            looks = s.connect()
            looks.set_session(isolation_level="REPEATABLE READ")
            looks.cursor().execute("SELECT 1 FROM central.record")
            s.call("hub_e", "withdraw_v1('one', %s, true)", ANNA)
            s.do("CALL central.erase_v1()")
            self.assertEqual(s.do("SELECT DISTINCT ready FROM central.scrub_due"), [(False,)])
            looks.close()
            while not s.do("SELECT 1 FROM central.scrub_due WHERE ready"):
                pass


if __name__ == "__main__":
    unittest.main()
