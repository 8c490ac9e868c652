#!/usr/bin/python3
"""A plugin that tries to get more than it was granted. It writes the outcome of each attempt to the file `report`.

The test writes facts that help the attacks into `targets.json` beside it.
"""
import ctypes, json, os, resource, signal, socket, struct, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
MANIFEST = {
    "name": "hostile", "summary": "Wants more.", "version": "1", "protocol": [1], "writes": ["weight"],
    "settings": [{"name": "report", "type": "path", "help": "What came of it.", "required": True, "access": "write"}]}
libc = ctypes.CDLL(None, use_errno=True)


def files(paths, flags=os.O_RDONLY):
    """Returns the first of the files that can be opened."""
    for path in paths:
        try:
            os.close(os.open(path, flags, 0o600))
            # An empty file or folder in its place reveals nothing.
            if flags != os.O_RDONLY or os.path.isdir(path) and os.listdir(path) or os.path.isfile(path) and open(path, "rb").read(1):
                return path
        except OSError:
            pass
    return None


def peer(path, kind):
    """Returns whether a ZeroMQ peer at a Unix socket completes the handshake (ZMTP 3.0, NULL)."""
    try:
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(5)
        link.connect(path)
        link.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
        greeting = b""
        while len(greeting) < 64:
            more = link.recv(64 - len(greeting))
            if not more:
                return None
            greeting += more
        body = b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
        link.sendall(b"\x04" + bytes([len(body)]) + body)
        return "shook hands" if b"READY" in link.recv(512) else None
    except OSError:
        return None


def connects(family, kind, address):
    try:
        link = socket.socket(family, kind)
        link.settimeout(3)
        link.connect(address)
        link.send(b"x")
        return f"reached {address}"
    except OSError:
        return None


def others():
    """Processes that are not its own."""
    mine = {os.getpid(), 1}
    seen = [int(name) for name in listed("/proc") if name.isdigit()]
    return [pid for pid in set(seen + TARGETS["processes"] + [os.getppid()]) if pid not in mine and pid > 1]


def listed(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def foreign_environment():
    if TARGETS["secret"] in os.environ.values():
        return "in its own environment"
    for pid in others() + [1]:
        try:
            if TARGETS["secret"].encode() in open(f"/proc/{pid}/environ", "rb").read():
                return f"of process {pid}"
        except OSError:
            pass
    return None


def traced():
    for pid in others():
        if libc.ptrace(16, pid, 0, 0) == 0:  # PTRACE_ATTACH
            libc.ptrace(17, pid, 0, 0)
            return f"process {pid}"
    return None


def read_memory():
    buffer = ctypes.create_string_buffer(8)
    vector = struct.pack("PN", ctypes.addressof(buffer), 8)
    for pid in others():
        try:
            start = int(open(f"/proc/{pid}/maps").read().split("-")[0], 16)
        except (OSError, ValueError):
            start = 0x400000
        if libc.process_vm_readv(pid, vector, 1, struct.pack("PN", start, 8), 1, 0) > 0:
            return f"process {pid}"
        try:
            os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY))
            return f"mem of {pid}"
        except OSError:
            pass
    return None


def signalled():
    for pid in others():
        try:
            os.kill(pid, 0)
            return f"process {pid}"
        except OSError:
            pass
    return None


def raised():
    for name in ("RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_NPROC"):
        limit, (_, hard) = getattr(resource, name), resource.getrlimit(getattr(resource, name))
        if hard == resource.RLIM_INFINITY and name != "RLIMIT_NPROC":
            return f"{name} has no bound"
        try:
            resource.setrlimit(limit, (hard + 1, hard + 1))
            return name
        except (OSError, ValueError):
            pass
    return None


def dumps():
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGQUIT)
        time.sleep(5)
        os._exit(0)
    return "there is one" if os.WCOREDUMP(os.waitpid(child, 0)[1]) else None


def gains_privilege():
    if "NoNewPrivs:\t1" not in status():
        return "it may gain privileges"
    if "CapEff:\t0000000000000000" not in status():
        return "it has capabilities"
    try:
        said = subprocess.run([HERE + "/setuid-id", "-u"], capture_output=True, text=True).stdout.strip()
        return f"became {said}" if said and said != str(os.getuid()) else None
    except OSError:
        return None


def status():
    try:
        return open("/proc/self/status").read()
    except OSError as error:
        return str(error)


def own_namespace():
    if libc.unshare(0x10000000) == 0:  # CLONE_NEWUSER
        return "a user namespace"
    return "a mount" if libc.mount(b"none", b"/", b"tmpfs", 0, None) == 0 else None


def calls():
    # io_uring_setup, bpf, userfaultfd, keyctl; if a number means another call on this machine, the filter says EPERM as well.
    for name, number in {"io_uring_setup": 425, "bpf": 321, "userfaultfd": 323, "keyctl": 250}.items():
        if os.uname().machine == "x86_64" and (libc.syscall(number, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() != 1):
            return name
    return None


def outlive():
    """A child that no environment, group or session ties to its parent. The test checks that it ends."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve("/bin/sleep", ["sleep", TARGETS["sleep"]], {})
        os._exit(0)
    return None


def run():
    run, data, conf = TARGETS["run"], TARGETS["data"], TARGETS["conf"]
    own = os.environ["HUB_STATE"]
    attempts = {
        "the owner's door": lambda: peer(run + "/door", b"DEALER"),
        "the owner's feed": lambda: peer(run + "/feed", b"SUB"),
        "another program's socket": lambda: connects(socket.AF_UNIX, socket.SOCK_STREAM, TARGETS["socket"]),
        "the store": lambda: files([data + "/hub.sqlite", data + "/hub.sqlite-wal"]),
        "the tokens": lambda: files([data + "/secrets.db"]),
        "the keys": lambda: files([data + "/keys", data + "/keys/hub.json"]),
        "hub.conf": lambda: files([conf]),
        "another plugin's state": lambda: files([f"{data}/plugins/other", f"{data}/plugins/other/diary", f"{data}/logs"]),
        "a person's files": lambda: files([TARGETS["private"]]),
        "a foreign environment": foreign_environment,
        "tracing": traced,
        "another's memory": read_memory,
        "signals": signalled,
        "the network, TCP": lambda: connects(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", TARGETS["port"])),
        "the network, UDP": lambda: connects(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9)),
        "writing elsewhere": lambda: files(
            [HERE + "/written", data + "/written", "/var/tmp/written"], os.O_WRONLY | os.O_CREAT),
        # The plugin has a separate /tmp; the test checks that the file is in no other one.
        "writing below /tmp": lambda: files([TARGETS["outside"]], os.O_WRONLY | os.O_CREAT) and None,
        "writing its program": lambda: files([__file__], os.O_WRONLY),
        "raising a limit": raised,
        "a core dump": dumps,
        "more privilege": gains_privilege,
        "a namespace of its own": own_namespace,
        "calls that no plugin needs": calls,
        "outliving": outlive,
    }
    found = {name: attempt() for name, attempt in attempts.items()}
    # Allowed actions must succeed.
    open(own + "/diary", "w").write("mine")
    open(os.environ["TMPDIR"] + "/scratch", "w").write("mine")
    open("/dev/null", "w").write("x")
    os.urandom(8), time.tzset(), __import__("ssl").create_default_context()
    found["what it needs"] = None
    with open(TARGETS["report"], "w") as report:
        json.dump(found, report)
        report.write("\n")
    # Wait for the end of its stdin.
    while sys.stdin.readline():
        pass


if sys.argv[1:] == ["--describe"]:
    print(json.dumps(MANIFEST))
elif sys.argv[1:] == ["--run"]:
    TARGETS = json.load(open(HERE + "/targets.json"))
    run()
else:
    sys.exit(64)
