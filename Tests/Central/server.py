"""A separate PostgreSQL for a test: a folder, a Unix socket, and on request TLS on a loopback port. It ends with its test.

Needs PostgreSQL 15 (apt postgresql-15) and psycopg2 (.ci/setup test has it in .build/python-central)."""
import atexit, glob, os, pwd, select, shutil, socket, subprocess, sys, tempfile
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(ROOT, ".build/python-central"))
import psycopg2  # noqa: E402

SCHEMA = sorted(glob.glob(os.path.join(ROOT, "Plugins/Central/Schema/*.sql")))
# Whether only some of the repeated tests run, as with make test.
BRIEF = "HUB_BRIEF" in os.environ
BIN = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/bin")


def owner():
    """The user that runs the server, because PostgreSQL refuses to run as root."""
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


class Server:
    """`with Server() as s: s.connect("hub_1")`. Log-ins through the socket need no password; `hba` are the lines for log-ins by TLS."""

    def __init__(self, settings=(), hba=(), migrated=True):
        self.folder, self.kept = tempfile.mkdtemp(prefix="hub-central-"), {}
        who = owner()
        os.chown(self.folder, who.pw_uid, who.pw_gid)
        self.data, self.port = os.path.join(self.folder, "pg"), 5432
        self.copy_cluster()
        lines = [f"unix_socket_directories = '{self.folder}'", "listen_addresses = ''", "log_error_verbosity = terse", "max_connections = 40",
                 "log_checkpoints = off", "password_encryption = 'scram-sha-256'", *settings]
        if hba:
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                self.port = s.getsockname()[1]
            lines += ["listen_addresses = '127.0.0.1'", f"port = {self.port}"]
            with open(os.path.join(self.data, "pg_hba.conf"), "w") as f:
                f.write("local all all trust\n" + "\n".join(hba) + "\n")
        with open(os.path.join(self.data, "postgresql.conf"), "a") as f:
            f.write("\n".join(lines) + "\n")
        self.log = os.path.join(self.folder, "log")
        self.start()
        if migrated:
            self.migrate()

    def run(self, program, *arguments):
        who = owner()
        change = dict(user=who.pw_uid, group=who.pw_gid, extra_groups=[]) if os.geteuid() == 0 else {}
        done = subprocess.run([os.path.join(BIN, program), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, cwd=self.folder, env={**os.environ, "LC_ALL": "C", "HOME": self.folder}, **change)
        if done.returncode:
            raise RuntimeError(f"{program} ended with {done.returncode}: {done.stdout[-2000:]}")
        return done.stdout

    # A cluster that no server has used, which each server copies, because initdb takes ten times as long.
    unused = os.environ.get("HUB_CLUSTER")

    def copy_cluster(self):
        if not Server.unused:
            folder = tempfile.mkdtemp(prefix="hub-cluster-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            os.chown(folder, owner().pw_uid, owner().pw_gid)
            Server.unused = os.path.join(folder, "pg")
            self.run("initdb", "-D", Server.unused, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync")
        subprocess.run(["cp", "-a", "--reflink=auto", Server.unused, self.data], check=True)

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-l", self.log, "-w", "start")

    def stop(self, how="fast"):
        self.kept.clear()
        self.run("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def connect(self, user="postgres", database="central", **more):
        return psycopg2.connect(host=self.folder, port=self.port, user=user, dbname=database, **more)

    def do(self, text, values=None, user="postgres"):
        """Runs one statement in a separate transaction and returns its rows, if it has any. Reuses the role's last session if it is still open."""
        c = self.kept.pop(user, None)
        if c is None or select.select([c], [], [], 0)[0]:      # something to read is the server's farewell
            c = self.connect(user)
            c.autocommit = True
        with c.cursor() as k:
            k.execute(text, values)
            rows = k.fetchall() if k.description else None
        self.kept[user] = c                   # only after a success: one that has failed may have lost its session
        while len(self.kept) > 8:
            self.kept.pop(next(iter(self.kept))).close()
        return rows

    def call(self, user, text, *values):
        """Calls a function of the hubs and returns its answer."""
        return self.do("SELECT central." + text, values, user)[0][0]

    def migrate(self):
        c = self.connect(database="postgres")
        c.autocommit = True
        c.cursor().execute("CREATE DATABASE central")
        c.close()
        c = self.connect()
        for no, path in enumerate(SCHEMA, 1):
            with open(path) as f, c, c.cursor() as k:
                k.execute(f.read())
                k.execute("RESET ROLE; INSERT INTO central.migration (no, name) VALUES (%s, %s)", (no, os.path.basename(path)))
        c.close()

    def study(self, name, types, *hubs, group=2, rows=True, ends=None):
        """Creates a study and its reader, `study_NAME`, and offers it to these hubs. Missing types are created."""
        self.do(f"CREATE ROLE study_{name} LOGIN IN ROLE staff")
        for t in types:
            self.do("INSERT INTO central.type (id, unit) VALUES (%s, 'kg') ON CONFLICT DO NOTHING", (t,))
        self.do("INSERT INTO central.study (name, title, reader, types, min_group, rows, ends) SELECT %s, %s, %s, array_agg(type_no), %s, %s, %s FROM central.type WHERE id = ANY (%s)",
                (name, name, "study_" + name, group, rows, ends, list(types)))
        for h in hubs:
            self.do("INSERT INTO central.offer SELECT hub_no, study_no FROM central.hub, central.study WHERE login = %s AND name = %s", (h, name))

    def hub(self, login):
        self.do(f"CREATE ROLE {login} LOGIN IN ROLE hub")
        self.do("INSERT INTO central.hub (login) VALUES (%s)", (login,))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
