"""A household on a real hub, for tests with browsers: three people with records of many kinds, a scale, an inbox, two sinks."""
import atexit, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading, time
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Berlin")
PATIENCE = 30


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Household:
    """A hub with the page, which this program starts and ends."""

    def __init__(self, programs):
        self.programs, self.started = programs, []
        self.folder = tempfile.mkdtemp(prefix="hub-web-", dir="/tmp")
        self.conf, self.port = f"{self.folder}/hub.conf", free_port()
        self.environment = {**os.environ, "HUB_CONF": self.conf, "TZ": "Europe/Berlin"}
        atexit.register(self.end)

    def write(self, text, name, executable=False):
        path = f"{self.folder}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o700 if executable else 0o600)
        return path

    def program(self, name):
        return f"{self.programs}/{name}"

    def place(self, name, folder):
        """A copy of the program in another folder."""
        try:
            os.link(self.program(name), f"{folder}/{name}")
        except OSError:
            shutil.copy(self.program(name), folder)

    def owner(self):
        """The owner's rights that the page can be granted: all for which its manifest asks."""
        return json.loads(subprocess.check_output([self.program("hub-web"), "--describe"]))["owner"]

    def configure(self, more="", zone="Europe/Berlin"):
        grants = ", ".join(f'"{word}"' for word in self.owner())
        self.write(f"""
[hub]
data = "{self.folder}/data"
run = "{self.folder}/run"
zone = "{zone}"

[person.anna]
expected_weight = 61
locale = "en_GB"

[person.ben]
expected_weight = 84
locale = "de_DE"
units = ["weight=lb"]

[person.carl]

[plugin.web]
enabled = true
listen = "127.0.0.1:{self.port}"
grants = {{ owner = [{grants}] }}

{more}
""", "hub.conf")

    def start(self):
        """Starts the hub, and waits until the hub and the page answer."""
        self.hub = self.spawn([self.program("hub"), "run", "--config", self.conf], stderr=subprocess.PIPE)
        for line in self.hub.stderr:
            if "ready" in line:
                break
        else:
            raise SystemExit("the hub did not start")
        self.drain(self.hub.stderr)
        self.wait("the page", self.is_open)

    def is_open(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def wait(self, what, is_so):
        end = time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > end:
                raise SystemExit(f"{what}: not there within {PATIENCE} s")
            time.sleep(0.02)

    def spawn(self, command, **options):
        process = subprocess.Popen(command, env=self.environment, text=True, **{"stdin": subprocess.PIPE, **options})
        self.started.append(process)
        return process

    @staticmethod
    def drain(pipe):
            threading.Thread(target=lambda: [None for _ in pipe], daemon=True).start()

    def run(self, *arguments, text=None):
        """Runs one command of hub and returns its output."""
        done = subprocess.run([self.program("hub"), *arguments], env=self.environment, text=True, input=text,
                              capture_output=True)
        # Status ends with 1 if something is not well, such as a sink that has not started yet; its output is complete nevertheless.
        if done.returncode != 0 and (done.returncode, arguments[0]) != (1, "status"):
            raise SystemExit(f"hub {' '.join(arguments)}: exit code {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def lines(self, *arguments):
        return [json.loads(line) for line in self.run(*arguments, "--json").splitlines()]

    def publish(self, records):
        """Gives records like a program of a person."""
        path = self.write("".join(json.dumps(record) + "\n" for record in records), f"records-{time.monotonic_ns()}.jsonl")
        answers = [json.loads(line) for line in self.run("bridge", "publish", "--", "cat", path).split("\n") if line]
        wrong = [answer for answer in answers if "rejected" in json.dumps(answer)]
        if wrong:
            raise SystemExit(f"the hub did not take {wrong[:3]}")

    def publish_each(self, records):
        """Gives records of which the hub may refuse some. Returns how many it stored."""
        path = self.write("".join(json.dumps(record) + "\n" for record in records), f"records-{time.monotonic_ns()}.jsonl")
        done = subprocess.run([self.program("hub"), "bridge", "publish", "--", "cat", path], env=self.environment, text=True,
                              capture_output=True)
        return done.stdout.count('"stored"')

    @property
    def origin(self):
        """The address of the page for browsers, as in the links."""
        return self.link().split("/login/")[0]

    def link(self, person=None):
        return self.run("web", *(["--person", person] if person else [])).splitlines()[0]

    def end(self):
        for process in reversed(self.started):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def moment(days_ago, hour=7, minute=30, now=None):
    day = (now or datetime.now(ZONE)) - timedelta(days=days_ago)
    return day.replace(hour=hour, minute=minute, second=5, microsecond=0)


def fill(home):
    """Makes a year of weights with gaps, and some records of each kind."""
    records = []

    def add(person, kind, value, unit, start, minutes=0, **more):
        record = {"type": kind, "start": start.isoformat(), "key": f"{person} {kind} {start.isoformat()}", **more}
        if value is not None:
            record |= {"value": value, "unit": unit}
        if minutes:
            record["end"] = (start + timedelta(minutes=minutes)).isoformat()
        if person:
            record["subject"] = {"name": person}
        record.setdefault("source", {"device": "bathroom"})
        records.append(record)

    for day in range(1, 400):
        wave = (day * 37 % 11 - 5) / 10
        if day % 9 and day not in range(40, 52):
            add("anna", "weight", round(62 + day / 100 + wave, 1), "kg", moment(day))
            if day % 3 == 0:
                add("anna", "bodyFatPercentage", round(0.24 + wave / 100, 3), "%", moment(day))
        if day < 60:
            add("ben", "weight", round(84 + wave, 1), "kg", moment(day, 8))
            add("carl", "weight", round(48 + wave, 1), "kg", moment(day, 9), source={"device": "attic"})
        if day < 30:
            add("anna", "stepCount", 4000 + day * 137 % 6000, "count", moment(day, 12), 45, source={"device": "watch"})
            for hour in range(8, 20, 4):
                add("anna", "heartRate", 58 + (day * hour) % 40, "count/min", moment(day, hour), source={"device": "watch"})
    # Without a person: one that could be anna's, and one of a guest.
    add(None, "weight", 72.4, "kg", moment(0, 6), source={"device": "bathroom"})
    add(None, "weight", 9.5, "kg", moment(0, 6, 10), source={"device": "bathroom"})
    home.publish(records)
    for words in [
        ["bloodPressure", "120/80", "--note", "after coffee"], ["height", "168cm"],
        ["sleepAnalysis", "asleepCore", "--from", "yesterday 0:10", "--to", "yesterday 7:05"],
        ["food", "Ham Sandwich", "350kcal", "--protein", "12g"],
        ["swim", "30min", "--energy", "300kcal", "--distance", "1km"], ["weight", "61.8kg"],
    ]:
        home.run("log", *words, "--person", "anna", "--yes")
    home.run("log", "weight", "82.1kg", "--person", "ben", "--yes")


def furnish(home):
    """Configures the plugins of the household, and starts the scale that one of them needs."""
    home.scale_port = free_port(socket.SOCK_DGRAM)
    for name in ("files", "tables"):
        os.mkdir(f"{home.folder}/{name}")
    home.configure(f"""
[plugin.gap-filler]

[plugin.json-lines]
path = "{home.folder}/files"

[plugin.ihealth-hs5]
link = "udp://127.0.0.1:{home.scale_port}?bind=0"
device_id = "004D32111111"

[plugin.tables]
kind = "json-lines"
enabled = false
format = "csv"
path = "{home.folder}/tables"

[plugin.ihealth-hs3]
enabled = false
link = "rfcomm://00:4D:32:1A:2B:3C"
""")
    home.scale = home.spawn([home.program("hub-scale-sim"), "hs5", "--listen", f"udp://127.0.0.1:{home.scale_port}",
                             "--device-id", "004D32111111", "--users", "", "--until-eof"], stdout=subprocess.DEVNULL)
    home.start()
    fill(home)
    home.wait("the scale", lambda: any(device.get("device") == "004D32111111" for device in home.json("status")["devices"]))


def household(programs):
    home = Household(programs)
    furnish(home)
    return home


if __name__ == "__main__":
    home = household(sys.argv[1])
    print(f"export HUB_CONF={home.conf}", home.link(), sep="\n", flush=True)
    signal.sigwait([signal.SIGINT, signal.SIGTERM])
