"""Measures the memory that the plugin needs while it waits for records. The plugin runs in a separate memory group (cgroup) without swap. The group counts the memory that the plugin has
allocated, the kernel's memory for it, and each page of its file and its libraries, which are copies that no other program has in memory. The group has 25 MiB at the plugin's start. Then
it is made smaller until the plugin has to read its file again while it waits. Used by week.py; needs root, and a kernel that counts memory by groups (either version)."""
import contextlib, os, re, shutil, subprocess, time
from hubs import args, eventually

LIMIT = 25
# A Raspberry Pi reads this much ahead from its card. A machine that reads megabytes ahead would fill the group with pages that were not requested.
AHEAD_KB = 128
# The sizes to try next. The plugin is at rest in a size if it reads no page for WAIT seconds in one of TIMES attempts, because occasional work may need a page that was evicted.
SIZES, WAIT, TIMES = (20, 17, 14, 12, 10, 9, 8, 7), 10, 3


class Group:
    """A memory group of the kernel, version 1 or 2."""

    def __init__(self):
        one, two = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
        if os.path.exists(f"{one}/cgroup.procs"):
            self.root, self.limit, swap = one, "memory.limit_in_bytes", ("memory.swappiness", "0")
        elif os.path.exists(f"{two}/cgroup.controllers") and "memory" in open(f"{two}/cgroup.controllers").read().split():
            self.root, self.limit, swap = two, "memory.max", ("memory.swap.max", "0")
            self.write(f"{two}/cgroup.subtree_control", "+memory")
        else:
            raise RuntimeError("the kernel counts no memory by groups (cgroup_enable=memory)")
        self.path = f"{self.root}/hub-central-{os.getpid()}"
        os.mkdir(self.path)
        with contextlib.suppress(FileNotFoundError):     # the kernel may have no swap
            self.write(f"{self.path}/{swap[0]}", swap[1])

    @staticmethod
    def write(path, text):
        with open(path, "w") as f:
            f.write(text)

    def size(self, mebibytes):
        """Returns False if the kernel cannot take that much memory from it."""
        try:
            self.write(f"{self.path}/{self.limit}", str(mebibytes * 2**20))
        except OSError:
            return False
        return True

    def reads(self):
        """The page faults since the group was made that had to read from the disk."""
        return int(re.search(r"^pgmajfault (\d+)", open(f"{self.path}/memory.stat").read(), re.M)[1])

    def run(self, words, **how):
        return subprocess.Popen(["/bin/sh", "-c", f'echo $$ >"{self.path}/cgroup.procs" && exec "$@"', "sh", *words], **how)

    def end(self):
        os.rmdir(self.path)


class OwnCopies:
    """The program and its libraries on a separate disk, with none of their pages in memory. `stack` removes them at its end."""

    def __init__(self, folder, program, stack):
        image, self.folder = f"{folder}/copies.img", f"{folder}/copies"
        os.makedirs(self.folder, exist_ok=True)
        stack.callback(lambda: os.unlink(image))
        with open(image, "w") as f:
            f.truncate(400 * 2**20)
        self.run("mkfs.ext4", "-q", "-F", image)
        device = self.run("losetup", "-f", "--show", image)
        stack.callback(self.run, "losetup", "-d", device)
        self.run("blockdev", "--setra", str(AHEAD_KB * 2), device)
        self.run("mount", device, self.folder)
        try:
            linked = self.run("ldd", program)
            self.program = shutil.copy(program, self.folder)
            for name, path in re.findall(r"(\S+) => (/\S+)", linked):
                shutil.copy(os.path.realpath(path), f"{self.folder}/{name}")
        finally:
            self.run("umount", self.folder)
        self.run("mount", device, self.folder)
        stack.callback(self.run, "umount", self.folder)

    @staticmethod
    def run(*words):
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def delivered(house):
    return sum(s["delivered"] for s in house.status()["sinks"] if s["instance"] == "central")


def processor(pid):
    """Seconds of all its threads."""
    return sum(int(n) for n in open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def end(plugin, group):
    group.size(LIMIT * 4)
    plugin.terminate()
    try:
        plugin.wait(20)
    except subprocess.TimeoutExpired:
        plugin.kill()
        plugin.wait()


def rest(plugin, group):
    """Returns the percentage of a core that it needs once it reads nothing more; None if it still reads or has ended."""
    for _ in range(TIMES):
        reads, spent = group.reads(), processor(plugin.pid)
        time.sleep(WAIT)
        if plugin.poll() is not None:
            return None
        if group.reads() == reads:
            return (processor(plugin.pid) - spent) / WAIT * 100
    return None


def measure(house, records):
    """Returns {name: value}. The house must be enrolled and have given consent, and its hub must not run. Afterwards the hub runs, and the plugin's section stays off.

    records: the number that is delivered in the group of 25 MiB before the plugin waits, and again afterwards."""
    with open(f"{house.folder}/hub.conf", "a") as f:
        f.write("enabled = false\n")
    state, settings = f"{house.folder}/state", f"{house.folder}/own.conf"
    os.makedirs(f"{state}/health-hub", mode=0o700)
    shutil.copytree(f"{house.folder}/data/plugins/central", f"{state}/health-hub/central")
    open(settings, "w").close()

    def deliver(first):
        before = delivered(house)
        house.give(first, records)
        if house.failure:
            raise RuntimeError(house.failure)
        eventually("the plugin delivers in its group", lambda: delivered(house) - before >= records and house.settled())

    with contextlib.ExitStack() as stack:
        group = Group()
        stack.callback(group.end)
        copies = OwnCopies(house.folder, f"{args.build}/hub-central", stack)
        group.size(LIMIT)
        house.start()
        eventually("the hub runs", house.status)
        with open(f"{house.folder}/own.log", "w") as log:
            plugin = group.run([copies.program, "--run", "--instance", "central", "--door", house.door, "--settings", settings], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                               env={**os.environ, "XDG_STATE_HOME": state, "LD_LIBRARY_PATH": copies.folder})
        stack.callback(end, plugin, group)
        deliver(args.records + 1)
        found = {}
        for limit in (LIMIT, *SIZES):
            cost = rest(plugin, group) if group.size(limit) else None
            if cost is None:
                break
            found = {"least_mib": limit, "cpu_percent": cost}
        if not found:
            raise RuntimeError(f"in {LIMIT} MiB the plugin reads its file while it waits")
        # It must be well, not only idle: new records are delivered. A size that was too small may have ended it.
        if plugin.poll() is None:
            group.size(LIMIT)
            deliver(args.records + records + 1)
        return found
