import Foundation
import HubCore
import HubWire
import Testing
import ZeroMQ

@testable import HubCommand

/// A folder of a test's own, with a `hub.conf`.
final class TestFolder: Sendable {
    let path: String
    var configuration: String { path + "/hub.conf" }

    init() throws {
        path = "/tmp/hub-test-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: configuration)) }
}

/// A terminal with a person at it who has typed ahead.
final class TestTerminal: Sendable {
    /// What the program sees.
    let end: FileHandle
    private let person: FileHandle

    init() throws {
        var (near, far): (Int32, Int32) = (0, 0)
        try #require(openpty(&near, &far, nil, nil, nil) == 0)
        person = FileHandle(fileDescriptor: near, closeOnDealloc: true)
        end = FileHandle(fileDescriptor: far, closeOnDealloc: true)
    }

    func type(_ text: String) { person.write(Data(text.utf8)) }
}

/// A program that runs, and all it says.
final class TestProgram: Sendable {
    struct Result: Sendable {
        let code: Int32
        let output: String
        let errors: String
    }

    private let process: Process
    private let said = Locked((output: [UInt8](), errors: [UInt8]()))
    private let changes: AsyncStream<Void>
    private let readers = DispatchGroup()

    /// - Parameter terminal: a person's, for stdin and stderr.
    init(_ path: String, _ arguments: [String], terminal: TestTerminal? = nil) throws {
        let (process, output, errors) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        (process.standardInput, process.standardOutput, process.standardError) = (
            terminal?.end ?? .nullDevice, output, terminal?.end ?? errors
        )
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.process, self.changes) = (process, changes)
        try process.run()
        if terminal != nil { try errors.fileHandleForWriting.close() }
        let open = Locked(2)
        for (file, isOutput) in [(output.fileHandleForReading, true), (errors.fileHandleForReading, false)] {
            readers.enter()
            Thread { [said, readers] in
                while case let bytes = file.availableData, !bytes.isEmpty {
                    said.change { if isOutput { $0.output += bytes } else { $0.errors += bytes } }
                    change.yield()
                }
                open.change { $0 -= 1 }
                if open.value == 0 { change.finish() }
                readers.leave()
            }.start()
        }
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Waits for a line on either stream.
    func line(_ isMeant: (Substring) -> Bool) async throws {
        func found() -> Bool {
            let (output, errors) = said.value
            return (String(decoding: output, as: UTF8.self) + String(decoding: errors, as: UTF8.self))
                .split(separator: "\n").contains(where: isMeant)
        }
        if found() { return }
        for await _ in changes where found() { return }
        try #require(found(), "\(String(decoding: said.value.errors, as: UTF8.self))")
    }

    func terminate() { process.terminate() }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits until it has ended.
    func result() async throws -> Result {
        try await blocking { [self] in
            readers.wait()
            process.waitUntilExit()
            let (output, errors) = said.value
            return Result(
                code: process.terminationStatus, output: String(decoding: output, as: UTF8.self),
                errors: String(decoding: errors, as: UTF8.self))
        }
    }

    /// The program `hub` that was built with the tests.
    static let hub: String = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: tests).deletingLastPathComponent().appending(path: "hub").path
    }()

    static func hub(_ arguments: [String]) async throws -> Result { try await TestProgram(hub, arguments).result() }
}

/// A running `hub run` without plugins.
final class TestHub: Sendable {
    let endpoints: OwnerEndpoints
    private let folder: TestFolder
    private let program: Locked<TestProgram>

    /// - Parameters:
    ///   - persons: tables of `hub.conf`.
    ///   - folder: a test's own, where it has one.
    ///   - environment: what the hub finds in its environment, as `NAME=value`.
    init(
        _ persons: String = "[person.me]\n", in folder: TestFolder? = nil, under environment: [String] = []
    ) async throws {
        let folder = try folder ?? TestFolder()
        try folder.write("[hub]\ndata = \"\(folder.path)/data\"\nrun = \"\(folder.path)/run\"\n\(persons)")
        self.folder = folder
        endpoints = OwnerEndpoints(door: "ipc://\(folder.path)/run/door", feed: "ipc://\(folder.path)/run/feed")
        program = Locked(
            try TestProgram("/usr/bin/env", environment + [TestProgram.hub, "run", "--config", folder.configuration]))
        try await program.value.line { $0.hasPrefix("hub: ready: ") }
    }

    var configuration: String { folder.configuration }
    var data: String { folder.path + "/data" }

    /// Starts a further command of `hub`.
    func start(_ arguments: [String], under environment: [String] = []) throws -> TestProgram {
        try TestProgram(
            "/usr/bin/env", environment + [TestProgram.hub] + arguments + ["--config", folder.configuration])
    }

    func run(_ arguments: [String], under environment: [String] = []) async throws -> TestProgram.Result {
        try await start(arguments, under: environment).result()
    }

    func signal(_ number: Int32) { program.value.signal(number) }

    /// Returns when it has ended, however it did.
    func waitForEnd() async { _ = try? await program.value.result() }

    /// Ends the hub in order; its exit code.
    func stop() async throws -> Int32 {
        program.value.terminate()
        return try await program.value.result().code
    }

    func restart() async throws {
        let next = try start(["run"])
        program.change { $0 = next }
        try await next.line { $0.hasPrefix("hub: ready: ") }
    }

    /// Sends records as a script would; returns when they are stored.
    ///
    /// - Parameter interruption: what happens once they are sent; then nobody waits for an answer.
    func give(_ records: [String], interruption: (() -> Void)? = nil) throws {
        let peer = try TestPeer(endpoints.door, as: "test-pub")
        if let interruption {
            try peer.send(records)
            return interruption()
        }
        try peer.give(records)
        try peer.send("BYE", "{}")
        try #require(try peer.receive().verb == "BYE")
    }
}

/// A program at a door of the hub that has greeted it.
final class TestPeer {
    private let socket: Socket
    private var batch = 0

    init(_ door: String, as name: String, plugin: String? = nil, key: KeyFile? = nil) throws {
        socket = try Socket(.dealer, in: try Context())
        if let key {
            try socket.set(.curveServerKey, to: try #require(CurveKey(z85: key.serverKey)))
            try socket.set(.curvePublicKey, to: try #require(CurveKey(z85: key.publicKey)))
            try socket.set(.curveSecretKey, to: try #require(CurveSecretKey(z85: key.secretKey)))
        }
        try socket.connect(door)
        try send("HELLO", #"{"protocol":[1],"instance":"\#(name)","plugin":"\#(plugin ?? name)","version":"1"}"#)
        let (verb, body) = try receive()
        try #require(verb == "WELCOME", "\(body)")
    }

    /// Sends records, and returns when they are stored.
    func give(_ records: [String]) throws {
        try send(records)
        let (verb, body) = try receive()
        try #require(verb == "STORED", "\(body)")
        try #require(!body.contains("rejected"), "\(body)")
    }

    func send(_ records: [String]) throws {
        batch += 1
        try send("SAMPLES", #"{"batch":\#(batch),"records":[\#(records.joined(separator: ","))]}"#)
    }

    func send(_ verb: String, _ body: String) throws {
        var message = Multipart()
        message.append(verb)
        message.append(body)
        try #require(try socket.sendMultipart(message) == .sent)
    }

    func receive() throws -> (verb: String, body: String) {
        try #require(try socket.wait(for: .readable, upTo: .seconds(10)).contains(.readable))
        var message = Multipart()
        _ = try socket.receiveMultipart(into: &message)
        return (message.text(of: 0) ?? "", message.text(of: 1) ?? "")
    }
}
