"""Runs `hub demo --stay` for a browser that reads its pages."""
import os, re, shutil, signal, subprocess, sys, tempfile, time
from urllib.parse import urlsplit
from urllib.request import urlopen


class Month:
    def __init__(self, programs, seconds, verbose=False):
        self.programs, self.verbose, self.told = programs, verbose, []
        self.folder = tempfile.mkdtemp(prefix="hub-month-", dir="/tmp")
        self.environment = {**os.environ, "HUB_CONF": f"{self.folder}/demo/hub.conf", "TZ": "Europe/Berlin", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen(
            [f"{programs}/hub", "demo", "--for", seconds, "--stay", "--keep", f"{self.folder}/demo"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment)

    def until(self, pattern):
        """Reads the story up to the line that matches the pattern."""
        for line in self.process.stdout:
            self.told.append(line.rstrip("\n"))
            if self.verbose:
                print(line, end="", file=sys.stderr, flush=True)
            if re.search(pattern, line):
                return line.strip()
        raise SystemExit("the demonstration ended:\n" + "\n".join(self.told[-60:]))

    def link(self):
        return self.until("http://hub-.*/login/")

    def end_of_month(self, origin):
        """Waits until the hub's time passes at the normal rate, and the page answers again."""
        self.until("and time passes as it does")
        end = time.monotonic() + 30
        while True:
            try:
                # This machine's resolver may not know the name, although browsers do.
                return urlopen(f"http://127.0.0.1:{urlsplit(origin).port}/login").close()
            except OSError:
                if time.monotonic() > end:
                    raise SystemExit("the page does not come back after the month")
                time.sleep(0.05)

    def hub(self, *arguments):
        return subprocess.run([f"{self.programs}/hub", *arguments], env=self.environment, text=True, capture_output=True).stdout

    def close(self):
        """Ends the demo like Ctrl-C, and returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        self.told += self.process.stdout.read().splitlines()
        code = self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        return code
