#!/usr/bin/env python3
"""Tests hub-central-admin with a separate PostgreSQL with TLS, from an empty database to a study's figures. Also tries stolen and revoked certificates.

    python3 admin.py HUB-CENTRAL-ADMIN"""
import json, os, re, shutil, subprocess, sys, tempfile, unittest
from functions import ANNA, BEN, record
from server import Server, owner, psycopg2

ADMIN = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 and os.path.exists(sys.argv[-1]) else "hub-central-admin"


class Desk(unittest.TestCase):
    """All tests share one centre; each test creates its own hubs and studies."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="hub-desk-")
        cls.run_(["ca", "new"])
        cls.run_(["ca", "host", "localhost", "127.0.0.1"])
        hba = [line for line in cls.run_(["hba"]).splitlines()]
        cls.s = Server(hba=hba, migrated=False)
        for name, mode in (("central-ca.crt", 0o644), ("localhost.crt", 0o644), ("localhost.key", 0o600)):
            shutil.copy(f"{cls.folder}/{name}", cls.s.data)
            os.chmod(f"{cls.s.data}/{name}", mode)
            os.chown(f"{cls.s.data}/{name}", owner().pw_uid, owner().pw_gid)
        c = cls.s.connect(database="postgres")
        c.autocommit = True
        for text in ("ssl = on", "ssl_ca_file = 'central-ca.crt'", "ssl_cert_file = 'localhost.crt'", "ssl_key_file = 'localhost.key'"):
            c.cursor().execute(f"ALTER SYSTEM SET {text}")
        c.close()
        cls.s.stop()
        cls.s.start()
        cls.run_(["migrate"])

    @classmethod
    def tearDownClass(cls):
        cls.s.__exit__()
        shutil.rmtree(cls.folder)

    @classmethod
    def run_(cls, words, fails=False, stdin=None):
        s = getattr(cls, "s", None)
        place = {"PGHOST": s.folder, "PGUSER": "postgres", "PGPORT": str(s.port)} if s else {}
        done = subprocess.run([ADMIN, *words], capture_output=True, text=True, cwd=cls.folder, input=stdin, env={**os.environ, **place})
        if (done.returncode != 0) != fails:
            raise AssertionError(f"{' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return (done.stderr + done.stdout if fails else done.stdout).strip()

    def admin(self, *words, fails=False, stdin=None):
        return self.run_(list(words), fails, stdin)

    def tls(self, user, database="central", **more):
        return psycopg2.connect(host="127.0.0.1", port=self.s.port, user=user, dbname=database, connect_timeout=5, **more)

    def answer(self, c, text, *values):
        with c, c.cursor() as k:
            k.execute("SELECT central." + text, values)
            return k.fetchone()[0]

    def request(self, name):
        subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=postgres", "-keyout", f"{self.folder}/{name}.key", "-out", f"{self.folder}/{name}.csr"],
                       check=True, capture_output=True)
        with open(f"{self.folder}/{name}.csr") as f:
            return f.read()

    def invited(self, line):
        got = re.fullmatch(r"central://127\.0\.0\.1:\d+/central\?invite=([0-9a-f]{8})\.([A-Za-z0-9_-]{32})", line)
        self.assertTrue(got, line)
        return dict(user="invite_" + got[1], password=got[2], sslmode="require", channel_binding="require")

    def enrol(self, name, *studies):
        """A hub that has its certificate: a function that connects as it."""
        line = self.admin("invite", name, "--hosts", "127.0.0.1", *[w for s in studies for w in ("--study", s)])
        invitation, csr = self.invited(line), self.request(name)
        self.assertEqual(self.answer(self.tls(**invitation), "enrol_v1(%s, %s)", csr, "id-" + name), {"state": "waiting"})
        self.assertIn(f"signed hub_{name}", self.admin("sign"))
        said = self.answer(self.tls(**invitation), "enrol_v1(%s, %s)", csr, "id-" + name)
        self.assertEqual((said["state"], said["login"]), ("signed", "hub_" + name))
        for kind in ("certificate", "ca"):
            with open(f"{self.folder}/{name}.{kind}", "w") as f:
                f.write(said[kind])
        os.chmod(f"{self.folder}/{name}.key", 0o600)
        files = dict(sslmode="verify-full", sslrootcert=f"{self.folder}/{name}.ca", sslcert=f"{self.folder}/{name}.certificate", sslkey=f"{self.folder}/{name}.key")
        return invitation, csr, (lambda user="hub_" + name, **more: self.tls(user, **{**files, **more}))

    def refused(self, connect, *words):
        with self.assertRaises(psycopg2.OperationalError) as caught:
            connect()
        if words:
            self.assertRegex(str(caught.exception), "|".join(words))

    def test_migrate_twice_is_once(self):
        self.assertIn("Nothing to do", self.admin("migrate"))
        self.assertEqual(json.loads(self.admin("migrate", "--json"))["applied"], [])

    def test_what_would_steer_a_terminal_is_written_out(self):
        title = "a\u009b31m\u202eb"
        self.admin("study", "new", "steer", "--title", title, "--type", "weight", "--group", "2")
        listed = self.admin("study", "list", "--json")
        self.assertIn("a\\u009b31m\\u202eb", listed)
        self.assertIn(title, [study.get("title") for study in json.loads(listed)])
        for text in (listed, self.admin("study", "list")):
            self.assertNotRegex(text, "[\u0080-\u009f\u202e]")

    def test_a_hub_comes_by_an_invitation_and_what_was_used_opens_nothing(self):
        self.admin("study", "new", "heart", "--title", "Hearts", "--type", "weight", "--type", "heartRate", "--group", "2")
        invitation, csr, connect = self.enrol("seven", "heart")
        other = self.request("thief")
        self.assertEqual(self.answer(self.tls(**invitation), "enrol_v1(%s, %s)", other, "id-seven"), {"refused": "invitation"})
        c = connect()
        self.assertEqual(self.answer(c, "hello_v1('id-seven', 'e1', 'test', now())")["era"], 1)
        self.assertEqual([s["study"] for s in self.answer(c, "studies_v1()")], ["heart"])
        self.assertEqual(self.answer(c, "hello_v1('id-other', 'e1', 'test', now())"), {"refused": "another hub"})
        self.admin("sign")
        self.refused(lambda: self.tls(**invitation), "pg_hba.conf rejects")
        # Another hub's name with the own certificate; no certificate; a certificate of another authority; a password.
        self.enrol("eight")
        self.refused(lambda: connect("hub_eight"), "certificate authentication failed")
        self.refused(lambda: connect("postgres"))
        self.refused(lambda: connect("central_desk"))
        self.refused(lambda: self.tls("hub_seven", sslmode="require", password="x"), "valid client certificate")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9", "-subj", "/CN=hub_seven", "-keyout", f"{self.folder}/own.key", "-out", f"{self.folder}/own.crt"], check=True, capture_output=True)
        self.refused(lambda: connect(sslcert=f"{self.folder}/own.crt", sslkey=f"{self.folder}/own.key"))
        self.refused(lambda: connect(database="postgres"))
        # Stopped: the open session ends, and the certificate opens nothing. It works again when the hub is allowed again.
        self.admin("stop", "seven")
        self.assertRaises(psycopg2.Error, self.answer, c, "studies_v1()")
        self.refused(connect, "not permitted to log in")
        self.admin("resume", "hub_seven")
        self.assertEqual(self.answer(connect(), "hello_v1('id-seven', 'e1', 'test', now())")["state"], "active")
        self.assertIn("enrolled already", self.admin("invite", "seven", "--hosts", "127.0.0.1", fails=True))
        line = self.admin("invite", "seven", "--hosts", "127.0.0.1", "--replaces")
        self.answer(self.tls(**self.invited(line)), "enrol_v1(%s, 'id-new')", self.request("anew"))
        self.admin("sign")
        self.assertEqual(self.answer(connect(), "hello_v1('id-seven', 'e1', 'test', now())"), {"refused": "another hub"})
        self.assertIn('"hub":"hub_seven"', self.admin("hubs", "--json"))

    def test_a_person_of_the_desk_works_from_a_machine_of_their_own(self):
        self.s.do("CREATE ROLE desk_maria LOGIN IN ROLE central_desk")
        self.admin("ca", "host", "desk_maria")
        place = ["--host", "127.0.0.1", "--port", str(self.s.port), "--user", "desk_maria", "--authority", "central-ca.crt", "--certificate", "desk_maria.crt", "--key", "desk_maria.key"]
        made = json.loads(self.admin("study", "new", "away", "--title", "Away", "--type", "weight", "--json", *place))
        line = self.admin("invite", "far", "--study", "away", *place)
        invitation, csr = self.invited(line), self.request("far")
        self.assertEqual(self.answer(self.tls(**invitation), "enrol_v1(%s, 'id-far')", csr), {"state": "waiting"})
        self.assertIn("signed hub_far", self.admin("sign", *place))
        self.assertIn("hub_far", self.admin("hubs", *place))
        self.assertIn("stopped", self.admin("stop", "far", *place))
        self.assertIn("active", self.admin("resume", "far", *place))
        self.assertIn("No setting", self.admin("check", *place))
        self.admin("stats", "away", *place)
        self.admin("export", "away", *place)
        self.assertIn("central_up 1", self.admin("metrics", *place))
        self.admin("months", *place)
        self.admin("study", "end", "away", "--erase", *place)
        self.admin("erase", *place)
        self.admin("incarnation", *place)
        self.refused(lambda: self.tls(made["reader"], password=made["password"], sslmode="require"))
        # Commands that make the database need the superuser, on the leader.
        self.assertIn("pg_hba.conf rejects", self.admin("migrate", *place, fails=True))

    def test_a_request_that_proves_nothing_is_refused(self):
        line = self.admin("invite", "liar", "--hosts", "127.0.0.1")
        csr = self.request("liar").splitlines()
        csr[-2] = csr[-2][:-8] + ("AAAA" if csr[-2][-8:-4] != "AAAA" else "BBBB") + csr[-2][-4:]
        invitation = self.invited(line)
        self.assertEqual(self.answer(self.tls(**invitation), "enrol_v1(%s, 'id-liar')", "\n".join(csr) + "\n"), {"state": "waiting"})
        self.assertIn("refused hub_liar", self.admin("sign"))
        self.assertEqual(self.answer(self.tls(**invitation), "enrol_v1(%s, 'id-liar')", "\n".join(csr) + "\n"), {"refused": "request"})
        self.assertEqual(self.s.do("SELECT count(*) FROM pg_roles WHERE rolname = 'hub_liar'"), [(0,)])

    def test_a_certificate_is_renewed(self):
        _, _, connect = self.enrol("nine")
        self.answer(connect(), "hello_v1('id-nine', 'e1', 'test', now())")
        csr = self.request("nine2")
        self.assertEqual(self.answer(connect(), "renew_v1(%s)", csr), {"state": "waiting"})
        self.assertEqual(self.answer(connect(), "renew_v1(%s)", self.request("nine3")), {"refused": "limit"})
        self.admin("sign")
        with open(f"{self.folder}/nine2.crt", "w") as f:
            f.write(self.answer(connect(), "renew_v1(%s)", csr)["certificate"])
        os.chmod(f"{self.folder}/nine2.key", 0o600)
        connect(sslcert=f"{self.folder}/nine2.crt", sslkey=f"{self.folder}/nine2.key").close()

    def test_a_study_from_its_beginning_to_its_end(self):
        made = json.loads(self.admin("study", "new", "step-two", "--title", "Two", "--type", "bodyMass", "--type", "x.acme.glow:lx", "--group", "2", "--json"))
        self.assertEqual(made["reader"], "study_step_two")
        _, _, connect = self.enrol("ten", "step-two")
        c = connect()
        self.answer(c, "hello_v1('id-ten', 'e1', 'test', now())")
        for person in (ANNA, BEN):
            self.assertEqual(self.answer(c, "consent_v1('step-two', %s, '{weight}', '2026-01-01', NULL, NULL)", person), {"consented": True})
        self.answer(c, "take_v1('e1', 1, %s, 3)", json.dumps([record("a", 1, 70.5), record("b", 2, 80.25, person=BEN), record("c", 3, w="=1+1, \"x\"", v=None, kind="c")]))
        reader = self.tls(made["reader"], password=made["password"], sslmode="require")
        with reader.cursor() as k:
            k.execute("SELECT count(*) FROM central.study_record")
            self.assertEqual(k.fetchone()[0], 3)
        reader.close()
        self.assertIn("75.375", self.admin("stats", "step-two"))
        lines = self.admin("export", "step-two").splitlines()
        self.assertEqual(len(lines), 4)
        self.assertTrue(any("\"'=1+1, \"\"x\"\"\"" in line for line in lines), lines)
        observations = [json.loads(line) for line in self.admin("export", "step-two", "--format", "fhir").splitlines()]
        self.assertEqual(sorted(o["valueQuantity"]["value"] for o in observations), [70.5, 80.25])
        self.assertIn("would go", self.admin("study", "end", "step-two", "--erase", "--dry-run"))
        self.assertIn('"persons":2', self.admin("study", "list", "--json").replace(" ", ""))
        self.admin("study", "end", "step-two", "--erase")
        self.refused(lambda: self.tls(made["reader"], password=made["password"], sslmode="require"))
        self.assertEqual([(e["records"], e["history"]) for e in json.loads(self.admin("erase", "--dry-run", "--json"))], [(2, 0), (1, 0)])
        done = json.loads(self.admin("erase", "--json"))
        self.assertEqual((done["open"], done["rowsLeft"], done["filesLeft"]), (0, 0, 0))
        self.assertTrue(done["rewritten"])
        self.assertEqual(self.answer(c, "take_v1('e1', 2, %s)", json.dumps([record("d", 9)]))["answer"], "c")
        self.assertIn("did you mean", self.admin("study", "new", "x", "--title", "x", "--type", "weigth", fails=True))

    def test_check_names_what_makes_receipts_lie(self):
        self.assertIn("one node alone", self.admin("check"))
        for setting, words in (("synchronous_commit = local", "before another host"), ("statement_timeout = 5000", "waits for a replica"), ("full_page_writes = off", "torn pages"), ("fsync = off", "loses power")):
            self.s.do(f"ALTER SYSTEM SET {setting}")
            self.s.do("SELECT pg_reload_conf()")
            while self.s.do(f"SHOW {setting.split()[0]}")[0][0] in ("on", "0"):
                pass
            self.assertRegex(self.admin("check", fails=True), words)
            self.s.do(f"ALTER SYSTEM RESET {setting.split()[0]}")
            self.s.do("SELECT pg_reload_conf()")
            while self.s.do(f"SHOW {setting.split()[0]}")[0][0] not in ("on", "0"):
                pass
        self.s.do("ALTER ROLE hub SET synchronous_commit = off")
        self.assertIn("synchronous_commit of hub", self.admin("check", fails=True))
        self.s.do("ALTER ROLE hub RESET synchronous_commit")
        self.assertIn("synchronous_mode_strict", self.admin("check", "--patroni", "-", stdin="synchronous_mode: quorum\nttl: 20\n", fails=True))
        self.assertIn("No setting", self.admin("check", "--patroni", "-", stdin="synchronous_mode: quorum\nsynchronous_mode_strict: true\n"))

    @unittest.skipIf(os.geteuid() != 0, "needs root for a separate network and resolver")
    def test_a_resolver_that_does_not_answer_is_not_waited_for(self):
        with open(f"{self.folder}/resolv.conf", "w") as f:
            f.write("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")      # ten times as long as the program has
        silent = ("import socket, subprocess, sys\n"
                  "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 53))\n"
                  "r = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=100)\n"
                  "s.setblocking(False); print(r.returncode, r.stderr, len(s.recv(512)) > 0)")
        words = [sys.executable, "-c", silent, ADMIN, "hubs", "--host", "db1.example", "--authority", "central-ca.crt", "--certificate", "localhost.crt", "--key", "localhost.key"]
        done = subprocess.run(["unshare", "-m", "-n", "sh", "-c", 'ip link set lo up && mount --bind resolv.conf /etc/resolv.conf && exec "$@"', "sh", *words], cwd=self.folder, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"(?s)^[1-9].*db1\.example:5432: looking its name up: this machine's resolver has not answered in time.*True", done.stderr)

    def test_incarnation_months_and_metrics(self):
        before = len(json.loads(self.admin("incarnation", "--json")))
        self.assertEqual(len(json.loads(self.admin("incarnation", "--why", "a restore", "--json"))), before + 1)
        self.assertIn("Would drop: none", self.admin("months", "--dry-run"))
        self.admin("months")
        text = self.admin("metrics")
        self.assertRegex(text, r"(?m)^central_up 1$")
        self.assertRegex(text, r'(?m)^central_settings_wrong\{setting="fsync"\} 0$')
        for line in text.splitlines():
            self.assertRegex(line, r'^(# TYPE \w+ (gauge|counter)|central_\w+(\{\w+="[^"]*"\})? -?[0-9.e+]+)$')

    def test_every_command_teaches_and_prints_json(self):
        for words in re.findall(r"(?m)^  ([a-z]+)  ", self.admin("--help").split("SUBCOMMANDS:")[1]):
            text = self.admin(words, "--help")
            self.assertIn("Example", text, words)


if __name__ == "__main__":
    unittest.main()
