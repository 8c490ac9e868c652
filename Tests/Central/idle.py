"""What memory the plugin needs that waits for records. It runs in a memory group (cgroup) of its own, in which everything is counted: what it has allotted, what the kernel holds for it,
and each page of its file and of its libraries, which are copies that no other program has in memory. The group has 25 MiB from the plugin's start on; then it is made smaller until the plugin
has to read its file again while it waits. Used by week.py; needs root, and a kernel that counts memory by groups (either version)."""
import os, re, shutil, subprocess, time
from hubs import args, eventually

LIMIT = 25
# A Raspberry Pi reads so much ahead of its card; a machine that reads megabytes ahead would fill the group with what was not asked for.
AHEAD_KB = 128
# Seconds that it waits in each size, and pages that it may read meanwhile.
WAIT, PAGES = 10, 1


class Group:
    """A memory group of the kernel, version 1 or 2."""

    def __init__(self):
        one, two = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
        if os.path.exists(f"{one}/cgroup.procs"):
            self.root, self.limit, self.usage = one, "memory.limit_in_bytes", "memory.usage_in_bytes"
        elif "memory" in open(f"{two}/cgroup.controllers").read().split():
            self.root, self.limit, self.usage = two, "memory.max", "memory.current"
            open(f"{two}/cgroup.subtree_control", "w").write("+memory")
        else:
            raise RuntimeError("the kernel counts no memory by groups (cgroup_enable=memory)")
        self.path = f"{self.root}/hub-central-{os.getpid()}"
        os.mkdir(self.path)

    def shrink(self, mebibytes):
        with open(f"{self.path}/{self.limit}", "w") as f:
            f.write(str(mebibytes * 2**20))

    def held(self):
        """Mebibytes of all that is counted."""
        return int(open(f"{self.path}/{self.usage}").read()) / 2**20

    def reads(self):
        """Faults for which something had to be read, since the group is there."""
        return int(re.search(r"^pgmajfault (\d+)", open(f"{self.path}/memory.stat").read(), re.M)[1])

    def run(self, words, **how):
        return subprocess.Popen(["/bin/sh", "-c", f'echo $$ >"{self.path}/cgroup.procs" && exec "$@"', "sh", *words], **how)

    def end(self):
        os.rmdir(self.path)


class OwnCopies:
    """The program and its libraries on a disk of their own, with nothing of them in memory."""

    def __init__(self, folder, program):
        self.image, self.folder = f"{folder}/copies.img", f"{folder}/copies"
        os.makedirs(self.folder, exist_ok=True)
        with open(self.image, "w") as f:
            f.truncate(400 * 2**20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)
        self.device = subprocess.run(["losetup", "-f", "--show", self.image], check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run(["blockdev", "--setra", str(AHEAD_KB * 2), self.device], check=True)
        self.mount()
        linked = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        self.program = shutil.copy(program, self.folder)
        for name, path in re.findall(r"(\S+) => (/\S+)", linked):
            shutil.copy(os.path.realpath(path), f"{self.folder}/{name}")
        subprocess.run(["umount", self.folder], check=True)
        self.mount()

    def mount(self):
        subprocess.run(["mount", self.device, self.folder], check=True)

    def end(self):
        subprocess.run(["umount", self.folder], check=True)
        subprocess.run(["losetup", "-d", self.device], check=True)
        os.unlink(self.image)


def delivered(house):
    return sum(s["delivered"] for s in house.status()["sinks"] if s["instance"] == "central")


def processor(pid):
    """Seconds of all its threads."""
    return sum(int(n) for n in open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def measure(house, records):
    """Of a house that is enrolled and has agreed, and whose hub is not running: {name: value}, and the plugin's section stays off.

    records: so many are given and delivered in the group of 25 MiB before the plugin waits."""
    with open(f"{house.folder}/hub.conf", "a") as f:
        f.write("enabled = false\n")
    state, settings = f"{house.folder}/state", f"{house.folder}/own.conf"
    os.makedirs(f"{state}/health-hub", mode=0o700)
    shutil.copytree(f"{house.folder}/data/plugins/central", f"{state}/health-hub/central")
    open(settings, "w").close()
    group, copies, plugin = Group(), OwnCopies(house.folder, f"{args.build}/hub-central"), None
    try:
        group.shrink(LIMIT)
        house.start()
        eventually("the hub runs", house.status)
        before = delivered(house)
        with open(f"{house.folder}/own.log", "w") as log:
            plugin = group.run([copies.program, "--run", "--instance", "central", "--door", house.door, "--settings", settings], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                               env={**os.environ, "XDG_STATE_HOME": state, "LD_LIBRARY_PATH": copies.folder})
        house.give(args.records + 1, records)
        if house.failure:
            raise RuntimeError(house.failure)
        eventually("the plugin delivers in its group", lambda: delivered(house) - before >= records and house.settled())
        time.sleep(WAIT)
        found, least = {"held_mib": group.held()}, None
        for limit in range(LIMIT, 4, -1):
            group.shrink(limit)
            time.sleep(2)
            reads, spent = group.reads(), processor(plugin.pid)
            time.sleep(WAIT)
            if plugin.poll() is not None or group.reads() - reads > PAGES:
                break
            least, found["cpu_percent"] = limit, (processor(plugin.pid) - spent) / WAIT * 100
        if least is None:
            raise RuntimeError(f"in {LIMIT} MiB the plugin reads its file while it waits")
        # It is well, and not only still: what comes now is delivered.
        group.shrink(LIMIT)
        before = delivered(house)
        house.give(args.records + records + 1, records)
        eventually("the plugin goes on", lambda: delivered(house) - before >= records and house.settled())
        return {**found, "least_mib": least}
    finally:
        if plugin:
            plugin.terminate()
            plugin.wait()
        house.stop()
        copies.end()
        group.end()
