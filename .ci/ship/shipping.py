"""The parts that the scripts of this folder have in common: the version, the stage, its programs and libraries, their licences, and archives
whose bytes depend only on the files and the commit."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

SHIP = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(SHIP))
# The folder in which SwiftPM has resolved the packages; another one for a build with --scratch-path.
BUILD = os.environ.get("SWIFT_BUILD", f"{ROOT}/.build")
# The place of the programs and libraries in a stage; it can be moved as a whole.
PLACE = "usr/lib/health-hub"

# The packages of Debian that have the libraries of the system, by the names under which programs need them.
DEBIAN = {
    "ld-linux-aarch64.so.1": "libc6", "ld-linux-x86-64.so.2": "libc6", "libc.so.6": "libc6", "libdl.so.2": "libc6",
    "libgcc_s.so.1": "libgcc-s1", "libm.so.6": "libc6", "libmd.so.0": "libmd0", "libmosquitto.so.1": "libmosquitto1",
    "libpq.so.5": "libpq5", "libpthread.so.0": "libc6", "libqrencode.so.4": "libqrencode4", "librt.so.1": "libc6",
    "libsodium.so.23": "libsodium23", "libsqlite3.so.0": "libsqlite3-0", "libstdc++.so.6": "libstdc++6",
    "libutil.so.1": "libc6", "libz.so.1": "zlib1g", "libzmq.so.5": "libzmq5",
}
# Source files of others inside Swift packages that begin with their licence and have no file for it.
NOTICES = [
    ("swift-crypto", "Sources/CXKCP/FIPS202-opt64/KeccakP-1600-opt64.c"), ("swift-crypto", "Sources/CXKCP/FIPS202-opt64/brg_endian.h"),
    ("swift-nio", "Sources/CNIOSHA1/c_nio_sha1.c"), ("swift-nio-extras", "Sources/CNIOExtrasZlib/include/nioextras-zlib.h"),
]
MACHINES = {"amd64": "Advanced Micro Devices X86-64", "arm64": "AArch64"}


def fail(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def output(*words, folder=ROOT):
    try:
        return subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        fail(f"{words[0]} is missing: .ci/setup ship installs it or prints the command that does")
    except subprocess.CalledProcessError as error:
        fail(f"{' '.join(words)} ended with code {error.returncode}")


def version():
    return output(f"{ROOT}/.ci/version").strip()


def epoch():
    """The time of every file in an archive: of the last commit, unless SOURCE_DATE_EPOCH says otherwise."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))


def own_architecture():
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def arguments(usage):
    """The stage, the folder for the results, and the architecture, from the command line."""
    words = sys.argv[1:]
    if len(words) not in (2, 3):
        sys.exit(usage)
    stage, out = map(os.path.abspath, words[:2])
    architecture = words[2] if len(words) == 3 else own_architecture()
    if architecture not in MACHINES:
        fail(f"the architecture {architecture} is not known; known are {' and '.join(MACHINES)}")
    for folder in ("bin", "lib"):
        if not os.path.isdir(f"{stage}/{PLACE}/{folder}"):
            fail(f"{stage}/{PLACE}/{folder} is missing: .ci/ship/stage {words[0]} makes it")
    os.makedirs(out, exist_ok=True)
    return Stage(stage, architecture), out


class Stage:
    """The programs and libraries of a release build, for one architecture."""

    def __init__(self, folder, architecture):
        self.root, self.folder, self.architecture = folder, f"{folder}/{PLACE}", architecture
        self.programs, self.libraries = (sorted(os.listdir(f"{self.folder}/{name}")) for name in ("bin", "lib"))
        self.needed, self.glibc = set(), (0, 0)
        for file in [f"bin/{name}" for name in self.programs] + [f"lib/{name}" for name in self.libraries]:
            self._read(file)

    def _read(self, file):
        text = output("readelf", "--wide", "--file-header", "--dynamic", "--version-info", f"{self.folder}/{file}")
        machine = re.search(r"^ *Machine: *(.*)$", text, re.MULTILINE)
        if not machine or machine[1] != MACHINES[self.architecture]:
            fail(f"{self.folder}/{file} is for {machine[1] if machine else 'no machine'}, and {self.architecture} was asked for")
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        self.needed.update(name for name in needed if name not in self.libraries)
        for number in re.findall(r"Name: GLIBC_(\d+(?:\.\d+)+)", text):
            self.glibc = max(self.glibc, tuple(map(int, number.split("."))))

    def debian(self):
        """The packages of Debian that have the libraries of the system."""
        for name in sorted(self.needed):
            if name not in DEBIAN:
                fail(f"{self.folder} needs {name}, and no package of Debian is known for it: add it to DEBIAN in .ci/ship/shipping.py")
        return sorted({DEBIAN[name] for name in self.needed})


# MARK: - Components

def swift_packages():
    """Each Swift package that the build has resolved: its entry in SwiftPM's list, and its folder."""
    path = f"{BUILD}/workspace-state.json"
    try:
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
    except FileNotFoundError:
        fail(f"{path} is missing, in which SwiftPM lists the packages of a build: build first, or name its folder in SWIFT_BUILD")
    entries = sorted(state["object"]["dependencies"], key=lambda entry: entry["packageRef"]["identity"])
    return [(entry, f"{BUILD}/checkouts/{entry['subpath']}") for entry in entries]


def licence_files(folder):
    """The licences and notices of a package; those of code that it has taken over lie deeper, beside that code."""
    found = []
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (".git", "Tests", "IntegrationTests", "Benchmarks"))
        found += [f"{path}/{name}" for name in files if re.match(r"(LICEN[CS]E|NOTICE|COPYING)(\.(txt|md))?$", name)]
    return sorted(found)


def notice(path):
    """The licence in the comments of a source file."""
    with open(path, encoding="utf-8") as file:
        found = next((text for text in re.findall(r"/\*.*?\*/", file.read(), re.S) if re.search("redistribut|waived", text, re.I)), None)
    return found or fail(f"{path} has no comment with its licence; look for it, and correct NOTICES in .ci/ship/shipping.py")


def licences():
    """The licences of everything in a stage, as (name of the file, content)."""
    def content(path):
        with open(path, "rb") as file:
            return file.read()

    yield "LICENSE", content(f"{ROOT}/LICENSE")
    yield "Swift/LICENSE.txt", content(swift_licence())
    yield "Swift/ICU.txt", content(f"{SHIP}/Unicode-3.0.txt")
    for entry, folder in swift_packages():
        for path in licence_files(folder):
            yield f"{entry['packageRef']['name']}/{os.path.relpath(path, folder)}", content(path)
        for package, path in NOTICES:
            if package == entry["packageRef"]["identity"]:
                yield f"{entry['packageRef']['name']}/{path}.txt", f"{notice(f'{folder}/{path}')}\n".encode()


def swift_licence():
    """The licence of Swift's libraries, which comes with each toolchain."""
    program = os.path.realpath(output("sh", "-c", "command -v swift || true").strip() or "/nonexistent/bin/swift")
    places = [os.environ.get("SWIFT_LICENCE"), f"{os.path.dirname(os.path.dirname(program))}/share/swift/LICENSE.txt"]
    for path in filter(None, places):
        if os.path.isfile(path):
            return path
    fail(f"Swift's licence is not at {places[1]}: name the file in SWIFT_LICENCE")


# MARK: - Archives

class Archive:
    """A tar archive in memory, of files of root, sorted, with the time of the commit."""

    def __init__(self, time):
        self.entries, self.time = {}, time

    def add(self, name, content=None, mode=0o644, user=0, link=None):
        """Adds a file, a link to another path, or a folder if there is neither; the folders above it are added too."""
        if "/" in name and os.path.dirname(name) not in self.entries:
            self.add(os.path.dirname(name), mode=0o755)
        info = tarfile.TarInfo(name)
        info.mtime, info.uid, info.gid, info.mode = self.time, user, user, mode
        if link is not None:
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, link, 0o777
        elif content is None:
            info.type = tarfile.DIRTYPE
        else:
            info.size = len(content)
        self.entries[name] = info, content

    def add_tree(self, folder, name):
        """Adds the files of a folder, with links as links; a file that its owner may execute has mode 0755, another 0644."""
        for path, folders, files in os.walk(folder):
            folders.sort()
            for file in sorted(files):
                source, place = f"{path}/{file}", os.path.normpath(f"{name}/{os.path.relpath(path, folder)}/{file}")
                if os.path.islink(source):
                    self.add(place, link=os.readlink(source))
                    continue
                with open(source, "rb") as opened:
                    self.add(place, opened.read(), 0o755 if os.stat(source).st_mode & 0o100 else 0o644)

    def bytes(self):
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted(self.entries):
                info, content = self.entries[name]
                archive.addfile(info, io.BytesIO(content) if content is not None else None)
        return written.getvalue()


def sums(out):
    """Writes the SHA-256 of each file of the folder, as sha256sum --check reads them."""
    lines = []
    for name in sorted(os.listdir(out)):
        if name != "SHA256SUMS" and os.path.isfile(f"{out}/{name}"):
            with open(f"{out}/{name}", "rb") as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    with open(f"{out}/SHA256SUMS", "w", encoding="utf-8") as file:
        file.writelines(lines)
