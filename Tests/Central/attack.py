#!/usr/bin/env python3
"""Attacks the centre from the roles of a hub, an invitation and a study: every relation, column, function and setting in pg_catalog, so that
additions of a later migration are attacked too. `MAY` lists the permitted actions of these roles; all others must be refused.   python3 attack.py"""
import json, unittest
from functions import ANNA, BEN, TAKE_V2, columns, record
from server import Server, psycopg2

MAY = {  # the functions that each role may call, and the tables it may read
    "hub_mallory": ({"hello_v1", "take_v1", "take_v2", "digest_v1", "swept_v1", "studies_v1", "consent_v1", "withdraw_v1", "erasure_v1", "renew_v1", "digest_v2", "erased_v1", "my_hub"}, {"record"}),
    "invite_mallory": ({"enrol_v1"}, set()),
    "study_mallory": ({"horizon_v1", "incarnation_v1", "covers", "local_day", "for_study"}, {"my_study", "study_person", "study_record", "study_change", "study_week"}),
}
SECRET = 81.4375          # the victim's value, in every place that has a value
REFUSED = {"42501", "42809", "0A000", "55000", "42P17", "2BP01", "3F000", "25006", "428C9"}


class Attack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s, cls.sessions = Server(), {}
        s = cls.s
        for hub in ("hub_victim", "hub_mallory"):
            s.hub(hub)
        s.study("heart", ["weight"], "hub_victim")
        s.study("mallory", ["weight"], "hub_mallory")
        s.do("CREATE ROLE invite_mallory LOGIN IN ROLE invited")
        s.do("CREATE ROLE invite_victim LOGIN IN ROLE invited")
        s.do("INSERT INTO central.invite (role, login, studies, until) VALUES ('invite_mallory', 'hub_new', '{}', now() + interval '1 day'), ('invite_victim', 'hub_other', '{}', now() + interval '1 day')")
        for hub, person, study in (("hub_victim", ANNA, "heart"), ("hub_mallory", BEN, "mallory")):
            s.call(hub, "hello_v1(%s, %s, 'test', now())", hub, "epoch-" + hub)
            s.call(hub, "consent_v1(%s, %s, '{weight}', '2026-01-01', NULL, NULL)", study, person)
        take = "take_v1('epoch-hub_victim', %s, %s)"
        s.call("hub_victim", take, 1, json.dumps([record("a", 1, SECRET), record("b", 2, SECRET)]))
        s.call("hub_victim", take, 2, json.dumps([record("a", 3, SECRET)]))
        s.call("hub_victim", "withdraw_v1('heart', %s, true)", ANNA)
        s.call("hub_victim", "consent_v1('heart', %s, '{weight}', '2026-01-01', NULL, NULL)", ANNA)
        s.do("ANALYZE")

    @classmethod
    def tearDownClass(cls):
        cls.s.__exit__()

    def attempt(self, user, text, values=None):
        """Returns the rows, or the SQLSTATE of the refusal. The statement is rolled back."""
        c = self.sessions.get(user)
        if c is None or c.closed:
            c = self.sessions[user] = self.s.connect(user)
        try:
            with c.cursor() as k:
                k.execute(text, values)
                return k.fetchall() if k.description else []
        except psycopg2.Error as e:
            return e.pgcode
        finally:
            if not c.closed:
                c.rollback()

    def relations(self):
        return self.s.do("SELECT n.nspname, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')")

    def shows(self, rows):
        """Returns the victim's values found in the rows. (Everyone with a log-in to PostgreSQL can see the names of log-ins: Docs/Central.md.)"""
        return [x for x in (str(SECRET), ANNA, "epoch-hub_victim") if x in repr(rows)]

    def test_no_relation_is_read_or_changed_that_was_not_granted(self):
        for user, (_, granted) in MAY.items():
            for schema, name, kind in self.relations():
                place = f'"{schema}"."{name}"'
                with self.subTest(user=user, place=place):
                    got = self.attempt(user, f"SELECT * FROM {place}")
                    if schema == "central" and name not in granted:
                        self.assertIn(got, REFUSED)
                    self.assertEqual(self.shows(got), [])
                    changes = [f"DROP TABLE {place}"] if kind == "S" else [
                        f"DELETE FROM {place}", f"TRUNCATE {place}", f"LOCK TABLE {place} IN EXCLUSIVE MODE", f"ALTER TABLE {place} DISABLE TRIGGER ALL",
                        f"DROP TABLE {place}", f"CREATE INDEX ON {place} ((1))", f"CREATE RULE r AS ON SELECT TO {place} DO INSTEAD SELECT 1"]
                    for change in changes:
                        self.assertIsInstance(self.attempt(user, change), str, change)

    def test_no_column_is_updated_and_no_row_inserted(self):
        columns = self.s.do("SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = 'central'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND attnum > 0 AND NOT attisdropped")
        for user in MAY:
            for table, column in columns:
                with self.subTest(user=user, column=f"{table}.{column}"):
                    self.assertIn(self.attempt(user, f'UPDATE central."{table}" SET "{column}" = NULL'), REFUSED)
                    self.assertIn(self.attempt(user, f'INSERT INTO central."{table}" ("{column}") VALUES (NULL)'), REFUSED)

    def test_no_function_is_called_that_was_not_granted(self):
        functions = self.s.do("SELECT p.oid, n.nspname, p.proname, p.prokind, p.prosecdef, coalesce(p.proconfig::text, ''), pg_get_userbyid(p.proowner) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')")
        self.assertTrue({f[2] for f in functions} >= {"take_v1", "erase_v1", "enter"})
        for oid, schema, name, kind, definer, config, who in functions:
            if definer:
                self.assertIn("search_path=central, pg_temp", config.replace('"', ""), f"{name} works with its owner's rights and looks names up where its caller says")
                self.assertEqual(who, "central_owner", name)
            for user, (granted, _) in MAY.items():
                with self.subTest(user=user, function=name):
                    may = self.s.do("SELECT has_function_privilege(%s, %s::oid, 'EXECUTE')", (user, oid))[0][0]
                    self.assertEqual(may, name in granted)

    def test_a_hub_sees_its_own_rows_alone_whatever_it_asks(self):
        for text in ("SELECT * FROM central.record", f"SELECT * FROM central.record WHERE value = {SECRET}", "SELECT * FROM central.record WHERE hub_no <> central.my_hub()",
                     f"SELECT 1 FROM central.record WHERE 1 / (CASE WHEN value = {SECRET} THEN 0 ELSE 1 END) = 1", "SELECT count(*) FROM central.record", "TABLE central.record",
                     "SELECT value::text::int FROM central.record", "SET row_security = off; SELECT * FROM central.record"):
            with self.subTest(text=text):
                got = self.attempt("hub_mallory", text)
                self.assertIn(got if isinstance(got, str) else repr(got), ("[]", "[(0,)]", "42501"))

    def test_a_study_sees_no_other_study_also_by_an_error_in_a_condition(self):
        for view in MAY["study_mallory"][1]:
            for text in (f"SELECT * FROM central.{view} x WHERE x::text LIKE '%heart%'", f"SELECT count(*) FROM central.{view} x WHERE 1 / (CASE WHEN x::text LIKE '%{SECRET}%' THEN 0 ELSE 1 END) = 1",
                         f"SELECT * FROM central.{view} x WHERE (x::text || '!')::int = 0"):
                with self.subTest(text=text):
                    got = self.attempt("study_mallory", text)
                    self.assertNotEqual(got, "22012")
                    self.assertFalse(isinstance(got, list) and self.shows(got))
        for text in ("SET ROLE study_heart", "SET SESSION AUTHORIZATION study_heart", "SET ROLE central_owner", "GRANT study_heart TO study_mallory"):
            for user in MAY:
                self.assertIsInstance(self.attempt(user, text), str, text)

    def test_no_role_keeps_anything_here_or_becomes_another(self):
        for user in MAY:
            for text in ("CREATE TABLE central.t (a int)", "CREATE TABLE public.t (a int)", "CREATE TEMP TABLE t (a int)", "CREATE SCHEMA mine", "SELECT lo_create(0)", "SELECT lo_from_bytea(0, 'x')",
                         "CREATE FUNCTION central.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE ROLE r", "ALTER ROLE hub_victim PASSWORD 'x'",
                         "ALTER ROLE central_owner LOGIN", "COPY (SELECT 1) TO PROGRAM 'id'", "COPY (SELECT 1) TO '/tmp/x'", "SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('.')", "ALTER SYSTEM SET fsync = off",
                         "SELECT pg_reload_conf()", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'", "SELECT pg_advisory_lock(1)", "SELECT pg_try_advisory_lock(1)",
                         "SELECT pg_logical_emit_message(false, 'a', 'b')", "SELECT pg_create_physical_replication_slot('x')", "SELECT pg_switch_wal()", "CREATE EXTENSION pgcrypto", "DO $$ BEGIN PERFORM lo_create(0); END $$",
                         "ALTER DATABASE central SET synchronous_commit = off", f"ALTER ROLE {user} IN DATABASE postgres SET search_path = x; SELECT * FROM central.hub", "SELECT setval('central.hub_hub_no_seq', 1)", "SELECT nextval('central.hub_hub_no_seq')"):
                with self.subTest(user=user, text=text):
                    got = self.attempt(user, text)
                    self.assertIsInstance(got, str)
            for setting in ("fsync", "session_replication_role", "synchronous_standby_names", "log_statement", "zero_damaged_pages"):
                self.assertIsInstance(self.attempt(user, f"SET {setting} = DEFAULT"), str, setting)

    def test_a_hub_that_calls_its_functions_touches_nothing_of_another(self):
        before = self.s.do("SELECT md5(string_agg(r::text, '|' ORDER BY ident)) FROM central.record r JOIN central.hub h USING (hub_no) WHERE login = 'hub_victim'")
        take = "SELECT central.take_v1(%s, 9, %s)"
        self.assertEqual(self.attempt("hub_mallory", take, ("epoch-hub_victim", json.dumps([record("a", 99, 1)]))), [({"refused": "epoch"},)])
        self.assertEqual(self.attempt("hub_mallory", "SELECT central." + TAKE_V2, ("epoch-hub_victim", 9, *columns([record("a", 99, 1)]))), [({"refused": "epoch"},)])
        got = self.attempt("hub_mallory", take, ("epoch-hub_mallory", json.dumps([record("a", 99, 1), record("a", 100, kind="x"), record("b", 101, kind="r")])))
        self.assertEqual(got[0][0]["answer"], "css")
        self.s.call("hub_mallory", "take_v1('epoch-hub_mallory', 9, %s)", json.dumps([record("a", 100, kind="x"), record("b", 101, kind="r")]))
        self.assertEqual(self.attempt("hub_mallory", "SELECT central.withdraw_v1('heart', %s, true)", (ANNA,)), [({"refused": "person"},)])
        self.assertEqual(self.attempt("hub_mallory", "SELECT central.consent_v1('heart', %s, '{weight}', '2026-01-01', NULL, NULL)", (ANNA,)), [({"refused": "study"},)])
        self.assertEqual(self.attempt("hub_mallory", "SELECT central.erasure_v1(n) FROM generate_series(1, 9) n"), [({"refused": "login"},)] * 9)
        self.assertEqual(self.attempt("hub_mallory", "SELECT central.hello_v1('hub_victim', 'epoch-hub_victim', '', now())"), [({"refused": "another hub"},)])
        self.assertEqual(self.attempt("hub_mallory", "SELECT central.digest_v1(0, 200)")[0][0]["rows"], 2)
        self.assertFalse(self.shows(self.attempt("hub_mallory", "SELECT central.studies_v1()")))
        after = self.s.do("SELECT md5(string_agg(r::text, '|' ORDER BY ident)) FROM central.record r JOIN central.hub h USING (hub_no) WHERE login = 'hub_victim'")
        self.assertEqual(before, after)

    def test_an_invitation_is_used_once_by_one_hub(self):
        csr = "-----BEGIN CERTIFICATE REQUEST-----\n%s\n-----END CERTIFICATE REQUEST-----\n"
        ask = lambda who, body, hub: self.s.call(who, "enrol_v1(%s, %s)", csr % body, hub)
        self.assertEqual(ask("invite_mallory", "AAAA", "h"), {"state": "waiting"})
        self.assertEqual(ask("invite_mallory", "AAAA", "h"), {"state": "waiting"})
        self.assertEqual(ask("invite_mallory", "BBBB", "h"), {"refused": "invitation"})
        self.assertEqual(ask("invite_mallory", "AAAA", "another"), {"refused": "invitation"})
        self.assertEqual(self.s.call("invite_victim", "enrol_v1('no request', 'h')"), {"refused": "request"})
        self.s.do("UPDATE central.invite SET until = now() WHERE role = 'invite_victim'")
        self.assertEqual(ask("invite_victim", "AAAA", "h"), {"refused": "invitation"})


if __name__ == "__main__":
    unittest.main()
