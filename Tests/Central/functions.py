#!/usr/bin/env python3
"""Tests the answers of the centre's functions (Docs/Central.md) with a separate PostgreSQL: python3 functions.py"""
import hashlib, json, threading, unittest, uuid
from server import BRIEF, Server, psycopg2

ANNA, BEN = "6f1c2a9e5b7d4c30", "0a1b2c3d4e5f6071"


def ident(key):
    return str(uuid.UUID(bytes=hashlib.sha256(key.encode()).digest()[:16]))


def record(key, seq, value=72.5, person=ANNA, kind="q", type="weight", start="2026-03-15T06:30:05Z", **more):
    r = {"i": ident(key), "s": seq, "k": kind}
    if kind not in ("r", "x"):
        r |= {"p": person, "t": type, "a": start, "o": 60, "v": value}
    return r | more


COLUMNS = {"i": "uuid", "s": "bigint", "k": "text", "n": "bigint", "p": "text", "t": "text", "a": "timestamptz", "e": "timestamptz", "o": "smallint", "f": "smallint",
           "v": "float8", "w": "text", "b": "jsonb"}
TAKE_V2 = "take_v2(%s, %s, 7" + "".join(f", {c} => %s::{t}[]" for c, t in COLUMNS.items()) + ")"


def columns(records):
    """Returns the records as take_v2 expects them: a list for each member, None for a member that no record has."""
    text = lambda x: json.dumps(x) if isinstance(x, dict) else x
    lists = [[text(r.get(c)) for r in records] for c in COLUMNS]
    return [x if any(v is not None for v in x) else None for x in lists]


def digest(pairs):
    x = 0
    for i, seq in pairs:
        x ^= int.from_bytes(hashlib.sha256(f"{i} {seq}".encode()).digest()[:8], "big", signed=True)
    return x


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = Server()

    @classmethod
    def tearDownClass(cls):
        cls.s.__exit__()

    number = 0

    def setUp(self):
        """Creates a separate hub, one study, and Anna's consent since January."""
        Functions.number += 1
        self.hub, self.name = f"hub_f{self.number}", f"f{self.number}"
        self.s.hub(self.hub)
        self.s.study(self.name, ["weight", "heartRate"], self.hub)
        self.hello("e1")
        self.consent(ANNA)

    def hello(self, epoch, hub_id=None):
        return self.s.call(self.hub, "hello_v1(%s, %s, 'test', now())", hub_id or "id-" + self.hub, epoch)

    def consent(self, person, types=("weight",), since="2026-01-01", until=None, study=None):
        return self.s.call(self.hub, "consent_v1(%s, %s, %s, %s, %s, '\\x00')", study or self.name, person, list(types), since, until)

    def take(self, batch, *records, epoch="e1"):
        """Uses take_v2, like the present plugin. OfTheFirstVersion repeats the tests with take_v1, which older plugins use."""
        return self.s.call(self.hub, TAKE_V2, epoch, batch, *columns(records))

    def letters(self, *records, batch=1, epoch="e1"):
        return self.take(batch, *records, epoch=epoch)["answer"]

    def rows(self):
        return self.s.do("SELECT kind::text, seq, value, word, person_no, start_at FROM central.record ORDER BY seq", user=self.hub)

    def history(self, key):
        return self.s.do("SELECT value FROM central.history JOIN central.hub USING (hub_no) WHERE ident = %s AND login = %s ORDER BY seq", (ident(key), self.hub))

    def study_rows(self, name=None, view="study_record"):
        return self.s.do(f"SELECT value, pseudonym, record FROM central.{view} WHERE study = %s ORDER BY value", (name or self.name,), user="study_" + (name or self.name))

    def test_a_batch_is_stored_once_and_a_repeat_is_had(self):
        batch = [record("a", 1), record("b", 2, 73)]
        first = self.take(1, *batch)
        self.assertEqual(first["answer"], "ss")
        self.assertRegex(first["receipt"], r"^c1/\d+/1$")
        self.assertEqual(self.take(1, *batch), {**first, "answer": "hh"})
        self.assertEqual([r[2] for r in self.rows()], [72.5, 73])
        self.assertEqual(self.hello("e1")["versions"], 2)

    def test_every_answer_has_a_transaction_of_its_own_also_where_nothing_changes(self):
        self.take(1, record("a", 1))
        for text in ("take_v1('e1', 1, '[]')", "take_v1('e1', 1, '%s')" % json.dumps([record("a", 1)]), "take_v2('e1', 1, 0, '{}', '{}', '{}')",
                     "digest_v1(0, 9)", "swept_v1(9)", "studies_v1()", "erasure_v1(1)", "digest_v2(0, 9)", "erased_v1('e1', '{}', '{}')"):
            c = self.s.connect(self.hub)
            with c.cursor() as k:
                k.execute("SELECT central." + text)
                k.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
                self.assertTrue(k.fetchone()[0], text)
            c.close()

    def test_the_newer_version_stays_and_the_older_goes_into_the_history(self):
        self.assertEqual(self.letters(record("a", 5, 80)), "s")
        self.assertEqual(self.letters(record("a", 4, 70)), "h")
        self.assertEqual(self.letters(record("a", 6, 81), record("a", 7, 82)), "hs")
        self.assertEqual([r[2] for r in self.rows()], [82])
        self.assertEqual(self.history("a"), [(80,)])

    def test_what_no_consent_covers_is_refused(self):
        self.consent(BEN, since="2026-03-15", until="2026-03-15")
        day = dict(person=BEN)
        self.assertEqual(self.letters(
            record("p", 1, person="unknown"), record("t", 2, type="heartRate"), record("u", 3, type="x.acme.glow"), record("k", 4, kind="z"), record("n", 9, kind=None),
            record("before", 5, start="2026-03-14T22:59:59Z", **day), record("first", 6, start="2026-03-14T23:00:00Z", **day),
            record("last", 7, start="2026-03-15T22:59:59Z", **day), record("after", 8, start="2026-03-15T23:00:00Z", **day)), "ccttt" "cssc")

    def test_two_consents_cover_what_one_of_them_covers_and_one_whose_days_are_none_covers_nothing(self):
        for n, (since, until) in enumerate((("2026-02-01", "2026-02-10"), ("2026-02-05", "2026-02-20"), ("2026-06-30", "2026-06-01")), 1):
            other = f"{self.name}x{n}"
            self.s.study(other, ["heartRate"], self.hub)
            self.consent(ANNA, types=["heartRate"], since=since, until=until, study=other)
        days = ("2026-01-31", "2026-02-01", "2026-02-07", "2026-02-20", "2026-02-21", "2026-06-15")
        self.assertEqual(self.letters(*[record(d, n, type="heartRate", start=d + "T12:00:00Z") for n, d in enumerate(days, 1)]), "cssscc")
        self.assertEqual(self.letters(record("w", 9)), "s")

    def test_what_leaves_one_consent_and_comes_to_another_in_one_batch_is_there(self):
        for first in (0, 1):
            both = [record(f"a{first}", 5 + first, kind="r"), record(f"a{first}", 5 + first, 70 + first)]
            self.assertEqual(self.letters(both[first], both[1 - first]), "ss")
        self.assertEqual([r[:3] for r in self.rows()], [("q", 5, 70), ("q", 6, 71)])

    def test_a_consent_may_reach_to_the_last_day_that_there_is(self):
        self.consent(BEN, until="5874897-12-31")
        self.assertEqual(self.letters(record("a", 1, person=BEN), record("b", 2, start="infinity", person=BEN), record("c", 3, start="-infinity", person=BEN)), "ssc")

    def test_one_version_that_comes_twice_in_a_batch_is_one_row(self):
        self.assertEqual(self.letters(record("a", 1), record("b", 2), record("a", 1)), "sss")
        self.assertEqual([r[1] for r in self.rows()], [1, 2])
        self.assertEqual(self.hello("e1")["versions"], 2)

    def test_what_a_record_says_is_in_the_row_as_it_was_said(self):
        body = {"series": "mean30", "original": {"value": 159.4, "unit": "lb"}, "text": "a \"b\" \\ {c},d ä"}
        self.letters(record("a", 5, 72.30000000000001, n=3, e="2026-03-15T07:00:00.25Z", w='NULL, "w" \\', f=9, b=body))
        self.assertEqual(self.s.do("SELECT value, number, end_at = '2026-03-15T07:00:00.25Z', word, flags, body, offset_min FROM central.record", user=self.hub),
                         [(72.30000000000001, 3, True, 'NULL, "w" \\', 9, body, 60)])

    def test_what_was_taken_back_keeps_no_value_and_is_told_to_those_who_follow(self):
        self.letters(record("a", 1, 71.25, w="word", b={"method": "m"}))
        self.assertEqual(self.letters(record("a", 2, kind="r")), "s")
        self.assertEqual(self.rows()[0][:4], ("r", 2, None, None))
        self.assertEqual(self.study_rows(), [])
        self.assertEqual(self.s.do("SELECT gone, value FROM central.study_change", user="study_" + self.name), [(True, None)])
        self.assertEqual(self.letters(record("never", 3, kind="r")), "s")
        self.assertEqual(self.rows()[1][4:], (None, None))
        self.assertEqual(self.letters(record("a", 4, 71.5)), "s")
        self.assertEqual([r[0] for r in self.study_rows()], [71.5])

    def test_what_was_erased_in_the_house_leaves_its_identity_alone(self):
        self.letters(record("a", 1, 71.25))
        self.letters(record("a", 2, 71.75))
        self.letters(record("b", 3, 60))
        self.assertEqual(self.history("a"), [(71.25,)])
        self.assertEqual(self.letters(record("a", 4, 99, kind="x", p=ANNA, t="weight", w="w", a="2026-03-15T06:30:05Z")), "s")
        self.assertEqual(self.history("a"), [])
        self.assertIn(("x", 4, None, None, None, None), self.rows())
        self.assertEqual([r[0] for r in self.study_rows()], [60])
        self.assertEqual(self.s.do("SELECT count(*) FROM central.study_change WHERE gone", user="study_" + self.name), [(1,)])
        self.assertEqual(self.letters(record("a", 4, kind="x")), "h")
        self.assertEqual(self.letters(record("a", 3, 71.25)), "h")

    def erased(self, *pairs, epoch="e1"):
        return self.s.call(self.hub, "erased_v1(%s, %s, %s)", epoch, [n for n, _ in pairs], [q for _, q in pairs])

    def test_what_was_taken_back_and_then_erased_in_the_house_leaves_its_identity_alone(self):
        for key, number in (("a", {"n": 1}), ("b", {})):       # with the hub's number, and from a plugin that does not send it
            self.letters(record(key, 1, 71.25), record("c" + key, 2, 60))
            self.letters(record(key, 3, 71.75, **number))
            self.letters(record(key, 4, kind="r", **number))
            self.assertEqual(self.history(key), [(71.25,), (71.75,)])
            self.assertEqual(self.erased((1, 4)), {"rows": 1})
            self.assertEqual(self.history(key), [])
            self.assertEqual([r for r in self.rows() if r[1] == 4][-1], ("x", 4, None, None, None, None))
            self.assertEqual(self.erased((1, 4)), {"rows": 0})
            self.assertEqual(self.letters(record(key, 3, 71.75)), "h")
        self.assertEqual([r[0] for r in self.study_rows()], [60, 60])
        self.assertEqual(self.s.do("SELECT count(*) FROM central.study_change WHERE gone", user="study_" + self.name), [(2,)])

    def test_what_was_erased_in_the_house_before_the_centre_went_back_goes_again(self):
        self.letters(record("never changed", 1, 71), record("edited", 4, 72, n=2), record("stays", 3, 73), record("another's number", 5, 74))
        self.assertEqual(self.erased((1, 8), (2, 9), (6, 7)), {"rows": 2})
        self.assertEqual([r[:3] for r in self.rows()], [("q", 3, 73), ("q", 5, 74), ("x", 8, None), ("x", 9, None)])
        # When it is allowed again, it is a new record with another number and the same identity.
        self.assertEqual(self.letters(record("edited", 11, 75, n=10), record("never changed", 12, 76)), "ss")
        self.assertEqual(self.erased((1, 8), (2, 9)), {"rows": 0})
        self.assertEqual([r[2] for r in self.rows()], [73, 74, 75, 76])

    def test_what_was_erased_is_told_by_the_newest_epoch_and_after_its_comparison(self):
        self.letters(record("a", 1), record("lost", 7))
        self.assertEqual(self.erased(*[(n, n) for n in range(1, 1002)]), {"refused": "limit"})
        self.hello("e2")
        for epoch in ("e1", "e2"):
            self.assertEqual(self.erased((1, 7), epoch=epoch), {"refused": "epoch"})
        self.s.call(self.hub, "swept_v1(5)")
        # A record that the hub has lost is not the one that has its number now.
        self.assertEqual(self.erased((7, 8), epoch="e2"), {"rows": 0})
        self.assertEqual(self.erased((1, 6), epoch="e2"), {"rows": 1})

    def test_the_second_digest_leaves_out_what_was_erased(self):
        self.letters(record("a", 1), record("b", 2), record("c", 3, kind="r"))
        self.letters(record("b", 4, kind="x"))
        ask = lambda version: self.s.call(self.hub, f"digest_v{version}(1, 9)")
        self.assertEqual(ask(1), {"rows": 3, "digest": digest([(ident("a"), 1), (ident("b"), 4), (ident("c"), 3)])})
        self.assertEqual(ask(2), {"rows": 2, "digest": digest([(ident("a"), 1), (ident("c"), 3)])})

    def test_a_record_that_becomes_anothers_leaves_the_first(self):
        self.letters(record("a", 1))
        self.consent(BEN)
        before = self.study_rows()
        self.assertEqual(self.letters(record("a", 2, kind="r"), record("a", 3, person=BEN)), "hs")
        after = self.study_rows()
        self.assertNotEqual(before[0][1:], after[0][1:])
        self.assertEqual(self.s.do("SELECT record FROM central.study_change WHERE gone", user="study_" + self.name), [(before[0][2],)])

    def test_refusals(self):
        self.assertEqual(self.hello("e1", "another"), {"refused": "another hub"})
        self.s.hub(f"hub_g{self.number}")
        self.assertEqual(self.s.call(f"hub_g{self.number}", "hello_v1(%s, 'e1', '', now())", "id-" + self.hub), {"refused": "another hub"})
        self.assertEqual(self.take(1, *[record(str(i), i) for i in range(1001)]), {"refused": "limit"})
        self.assertEqual(self.take(1, epoch="e9"), {"refused": "epoch"})
        self.hello("e2")
        self.assertEqual(self.take(1), {"refused": "epoch"})
        self.assertEqual(self.hello("e1"), {"refused": "epoch"})
        self.assertEqual(self.consent(ANNA, types=["bodyFatPercentage"]), {"refused": "types"})
        self.assertEqual(self.consent(ANNA, study="none"), {"refused": "study"})
        self.assertEqual(self.s.call(self.hub, "withdraw_v1(%s, 'nobody', true)", self.name), {"refused": "person"})
        self.assertEqual(self.s.call(self.hub, "erasure_v1(999)"), {"refused": "login"})
        for state in ("paused", "stopped"):
            self.s.do("UPDATE central.hub SET state = %s WHERE login = %s", (state, self.hub))
            self.assertEqual(self.take(1, epoch="e2"), {"refused": state})
            self.assertEqual(self.hello("e2"), {"refused": state})

    def test_a_session_that_does_not_wait_is_refused(self):
        c = self.s.connect(self.hub, options="-c synchronous_commit=off")
        with c.cursor() as k:
            k.execute("SELECT central.take_v1('e1', 1, '[]')")
            self.assertEqual(k.fetchone()[0], {"refused": "settings"})
            k.execute("SELECT central.hello_v1(%s, 'e1', '', now()) -> 'settings'", ("id-" + self.hub,))
            self.assertEqual(k.fetchone()[0], ["synchronous_commit", "single"])
        c.close()

    def test_two_batches_of_a_hub_come_one_after_the_other(self):
        c = self.s.connect(self.hub)
        k = c.cursor()
        k.execute("SELECT central.take_v1('e1', 1, %s)", (json.dumps([record("a", 1)]),))
        answers = []
        other = threading.Thread(target=lambda: answers.append(self.letters(record("a", 1), batch=1)))
        other.start()
        while not self.s.do("SELECT 1 FROM pg_stat_activity WHERE usename = %s AND wait_event_type = 'Lock'", (self.hub,)):
            pass
        c.commit()
        other.join()
        self.assertEqual(answers, ["h"])
        c.close()

    def test_after_a_restore_of_the_hub_only_what_differs_is_sent_again(self):
        self.letters(*[record(f"k{i}", i) for i in range(1, 11)])
        self.letters(record("k3", 11, 90), record("new", 12))         # after the backup at 10
        said = self.hello("e2")
        self.assertEqual((said["era"], said["reconcile"]), (2, True))
        ask = lambda a, b: self.s.call(self.hub, "digest_v1(%s, %s)", a, b)
        self.assertEqual(ask(4, 10), {"rows": 7, "digest": digest((ident(f"k{i}"), i) for i in range(4, 11))})
        self.assertEqual(ask(1, 3)["rows"], 2)                        # k3 differs, so this range is sent again
        self.assertEqual(self.letters(*[record(f"k{i}", i) for i in range(1, 4)], epoch="e2"), "sss")
        self.assertEqual(self.s.call(self.hub, "swept_v1(10)"), {"rows": 1})
        self.assertEqual(self.s.do("SELECT seq FROM central.record WHERE flags & 16 <> 0", user=self.hub), [(12,)])
        self.assertEqual(ask(1, 100), {"rows": 10, "digest": digest((ident(f"k{i}"), i) for i in range(1, 11))})
        self.assertFalse(self.hello("e2")["reconcile"])
        self.assertEqual(self.letters(record("new", 11), epoch="e2"), "s")
        self.assertEqual(self.s.do("SELECT count(*) FROM central.record WHERE flags & 16 <> 0", user=self.hub), [(0,)])

    def test_withdrawing_stops_at_once_and_is_erased_with_proof(self):
        other = self.name + "b"
        self.s.study(other, ["weight", "heartRate"], self.hub)
        self.consent(ANNA, types=["weight", "heartRate"])
        self.consent(ANNA, types=["heartRate"], since="2026-02-01", study=other)
        self.consent(BEN)
        self.letters(record("w", 1), record("old", 2, 61, type="heartRate", start="2026-01-15T12:00:00Z"), record("heart", 3, 62, type="heartRate"), record("ben", 4, 90, person=BEN))
        self.letters(record("w", 5, 73), record("heart", 6, 63, type="heartRate"))
        pseudonym = self.study_rows()[0][1]
        said = self.s.call(self.hub, "withdraw_v1(%s, %s, true)", self.name, ANNA)
        self.assertEqual([r[0] for r in self.study_rows()], [90])
        self.assertEqual([r[0] for r in self.study_rows(other)], [63])
        self.assertEqual(self.letters(record("late", 7)), "c")
        state = lambda: self.s.call(self.hub, "erasure_v1(%s)", said["erasure"])
        self.assertEqual((state()["state"], state()["left"]), ("asked", None))
        self.assertEqual(self.s.call(self.hub, "withdraw_v1(%s, %s, true)", self.name, ANNA), said)
        self.s.do("CALL central.erase_v1(1)")
        self.assertEqual({k: state()[k] for k in ("state", "rows", "left", "files")}, {"state": "done", "rows": 3, "left": 0, "files": None})
        self.assertEqual([r[2] for r in self.rows()], [90, 63])
        self.assertEqual((self.history("w"), self.history("heart")), ([], [(62,)]))
        self.consent(ANNA)
        self.letters(record("again", 8))
        self.assertNotIn(pseudonym, [r[1] for r in self.study_rows()])

    def test_groups_below_the_minimum_are_hidden(self):
        self.consent(BEN)
        self.letters(record("a", 1, 70), record("b", 2, 80, person=BEN), record("c", 3, 75, start="2026-04-15T06:30:05Z"))
        self.assertEqual(self.s.do("SELECT week::text, persons, n, mean FROM central.study_week", user="study_" + self.name), [("2026-03-09", 2, 2, 75)])
        self.s.do("UPDATE central.study SET rows = false WHERE name = %s", (self.name,))
        for view in ("study_record", "study_change", "study_person"):
            self.assertEqual(self.s.do(f"SELECT count(*) FROM central.{view}", user="study_" + self.name), [(0,)], view)
        self.assertEqual(self.s.do("SELECT count(*) FROM central.study_week", user="study_" + self.name), [(1,)])

    def test_two_studies_cannot_put_their_rows_side_by_side(self):
        other = self.name + "c"
        self.s.study(other, ["weight"], self.hub)
        self.consent(ANNA, study=other)
        self.letters(record("a", 1, b={"series": "mean30", "plugin": "sami", "zone": "Europe/Berlin", "device": "020000003001"}))
        one, two = self.study_rows()[0], self.study_rows(other)[0]
        self.assertEqual(one[0], two[0])
        self.assertNotEqual(one[1:], two[1:])
        self.assertEqual(self.s.do("SELECT body FROM central.study_record", user="study_" + self.name), [({"series": "mean30", "plugin": "sami"},)])

    def test_nothing_appears_beneath_the_horizon(self):
        c = self.s.connect(self.hub)
        k = c.cursor()
        k.execute("SELECT central.take_v1('e1', 1, %s)", (json.dumps([record("slow", 1, 1)]),))
        self.s.hub(f"hub_h{self.number}")
        quick = f"hub_h{self.number}"
        self.s.do("INSERT INTO central.offer SELECT hub_no, study_no FROM central.hub, central.study WHERE login = %s AND name = %s", (quick, self.name))
        self.s.call(quick, "hello_v1(%s, 'e1', '', now())", quick)
        self.s.call(quick, "consent_v1(%s, %s, '{weight}', '2026-01-01', NULL, NULL)", self.name, BEN)
        self.s.call(quick, "take_v1('e1', 1, %s)", json.dumps([record("quick", 1, 2, person=BEN)]))
        reader, seen, place = "study_" + self.name, [], 0
        for last in (False, True):
            if last:
                c.commit()
            horizon = self.s.call(reader, "horizon_v1()")
            seen += [r[0] for r in self.s.do("SELECT value FROM central.study_change WHERE changed >= %s AND changed < %s", (place, horizon), user=reader)]
            place = horizon
        self.assertEqual(sorted(seen), [1, 2])
        c.close()

    def test_months_come_and_go_whole(self):
        self.letters(record("a", 1))
        self.letters(record("a", 2))
        self.s.do("DROP TABLE " + ", ".join(f"central.{r[0]}" for r in self.s.do("SELECT relname FROM pg_class WHERE relname ~ '^history_[0-9]{6}$' AND relkind = 'r'")))
        self.letters(record("a", 3))
        self.s.do("UPDATE central.history SET superseded = now() - interval '3 months'")
        self.letters(record("a", 4))
        self.s.do("CALL central.months_v1(6)")
        self.assertEqual(self.s.do("SELECT count(*) FROM central.history_rest"), [(0,)])
        self.assertEqual(self.s.do("SELECT count(*) FROM central.history"), [(2,)])
        self.s.do("CALL central.months_v1(2)")
        self.assertEqual(self.s.do("SELECT count(*) FROM central.history"), [(1,)])
        self.assertEqual(self.s.do("SELECT count(*) FROM pg_attribute a JOIN pg_inherits i ON i.inhrelid = a.attrelid WHERE i.inhparent IN ('central.history'::regclass, 'central.record'::regclass)"
                                   " AND attname IN ('value', 'word', 'body') AND attstattarget <> 0"), [(0,)])
        self.assertRaises(psycopg2.Error, self.s.do, "CALL central.months_v1(0)")

    def test_figures_have_no_value_and_no_person(self):
        self.letters(record("a", 1, 71.125))
        said = dict((r[0], r[3]) for r in self.s.do("SELECT * FROM central.metrics_v1()"))
        self.assertEqual((said["central_incarnation"], said["central_hub_backlog"]), (1, 7))
        self.assertNotIn(71.125, said.values())


@unittest.skipIf(BRIEF, "a part of make test-all")
class OfTheFirstVersion(Functions):
    """Repeats all tests with take_v1, which older plugins use."""

    def take(self, batch, *records, epoch="e1"):
        return self.s.call(self.hub, "take_v1(%s, %s, %s, 7)", epoch, batch, json.dumps(records))


class Arrays(unittest.TestCase):
    """Input that take_v2 refuses and that cannot be expressed in take_v1."""

    def test_arrays_of_several_lengths_and_too_much_text_are_refused(self):
        with Server() as s:
            s.hub("hub_a")
            s.study("heart", ["weight"], "hub_a")
            s.call("hub_a", "hello_v1('a', 'e1', '', now())")
            s.call("hub_a", "consent_v1('heart', %s, '{weight}', '2026-01-01', NULL, NULL)", ANNA)
            whole = columns([record("a", 1), record("b", 2)])
            for n, (column, values) in enumerate(zip(COLUMNS, whole)):
                if values is None:
                    continue
                for wrong in (values[:1], values + values[:1]):
                    with self.assertRaises(psycopg2.Error, msg=column) as e:
                        s.call("hub_a", TAKE_V2, "e1", 1, *whole[:n], wrong, *whole[n + 1:])
                    self.assertEqual(e.exception.pgcode, "2202E")
            # Calls without identities are refused, too.
            self.assertEqual(s.call("hub_a", "take_v2('e1', 1, 0, NULL, NULL, NULL, p => array_fill('x'::text, ARRAY[1001]))"), {"refused": "limit"})
            with self.assertRaises(psycopg2.Error) as e:
                s.call("hub_a", "take_v2('e1', 1, 0, NULL, NULL, NULL, p => '{x}')")
            self.assertEqual(e.exception.pgcode, "2202E")
            big = [record(str(n), n, w="x" * 9000) for n in range(1, 1001)]
            self.assertEqual(s.call("hub_a", TAKE_V2, "e1", 1, *columns(big)), {"refused": "limit"})
            self.assertEqual(s.call("hub_a", TAKE_V2, "e1", 1, *whole)["answer"], "ss")


class Restored(unittest.TestCase):
    """The centre was restored to an earlier moment, so its consents are from then."""

    def test_a_study_sees_of_a_restored_centre_what_each_house_has_said_since(self):
        with Server() as s:
            s.hub("hub_one"), s.hub("hub_two")
            s.study("heart", ["weight"], "hub_one", "hub_two")
            persons = {"hub_one": (ANNA, BEN), "hub_two": ("c0ffee00c0ffee00",)}
            hello = lambda hub: s.call(hub, "hello_v1(%s, 'e1', '', now())", hub)
            consent = lambda hub, person: s.call(hub, "consent_v1('heart', %s, '{weight}', '2026-01-01', NULL, NULL)", person)
            see = lambda view, what="count(*)": s.do(f"SELECT {what} FROM central.{view}", user="study_heart")
            for hub in persons:
                hello(hub)
                for n, person in enumerate(persons[hub], 1):
                    consent(hub, person)
                    s.call(hub, "take_v1('e1', 1, %s)", json.dumps([record(person, n, 70 + n, person=person), record(person + "r", n + 10, person=person)]))
                    s.call(hub, "take_v1('e1', 2, %s)", json.dumps([record(person + "r", n + 20, kind="r")]))
            before = see("study_person", "pseudonym")
            views = ("study_person", "study_record", "study_change", "study_week")
            self.assertEqual([see(v) for v in views], [[(3,)], [(3,)], [(6,)], [(1,)]])

            s.do("INSERT INTO central.incarnation (no, why) VALUES (2, 'a test')")
            self.assertEqual([see(v) for v in views], [[(0,)]] * 4)
            # Neither a hello alone nor deliveries make the persons visible: Ben may have withdrawn since.
            wants = hello("hub_one")["wants"]
            self.assertEqual([w["types"] for w in wants], [[], []])
            self.assertEqual({w["person"] for w in wants}, {ANNA, BEN})
            self.assertEqual(s.call("hub_one", "take_v1('e1', 3, %s)", json.dumps([record("new", 30, 75)]))["answer"], "s")
            self.assertEqual([see(v) for v in views], [[(0,)]] * 4)
            self.assertIsNotNone(s.call("hub_one", "withdraw_v1('heart', %s, true)", BEN)["erasure"])
            self.assertEqual(consent("hub_one", ANNA), {"consented": True})
            self.assertEqual(sorted(r[0] for r in see("study_record", "value")), [71, 75])
            self.assertEqual(see("study_person"), [(1,)])
            self.assertIn(see("study_person", "pseudonym")[0], before)
            self.assertEqual([w["types"] for w in hello("hub_one")["wants"]], [["weight"]])
            # The other house has not reported: it is not shown, and none of its records were deleted.
            s.do("CALL central.erase_v1()")
            self.assertEqual(s.do("SELECT login, count(*) FROM central.record JOIN central.hub USING (hub_no) WHERE kind = 'q' GROUP BY 1 ORDER BY 1"), [("hub_one", 2), ("hub_two", 1)])
            hello("hub_two")
            consent("hub_two", persons["hub_two"][0])
            self.assertEqual(see("study_person"), [(2,)])


if __name__ == "__main__":
    unittest.main()
