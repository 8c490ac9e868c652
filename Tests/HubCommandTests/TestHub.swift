import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Testing
import ZeroMQ

@testable import HubCommand

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

/// A running `hub run` without plugins.
final class TestHub: Sendable {
    let endpoints: OwnerEndpoints
    private let folder: TemporaryFolder
    private let program: Locked<ChildProcess>

    /// - Parameters:
    ///   - persons: tables of `hub.conf`.
    ///   - folder: a test's own, where it has one.
    ///   - environment: what the hub finds in its environment, as `NAME=value`.
    init(
        _ persons: String = "[person.me]\n", in folder: TemporaryFolder? = nil, under environment: [String] = []
    ) async throws {
        let folder = try folder ?? TemporaryFolder()
        try folder.write("[hub]\ndata = \"\(folder.path)/data\"\nrun = \"\(folder.path)/run\"\n\(persons)")
        self.folder = folder
        endpoints = OwnerEndpoints(door: "ipc://\(folder.path)/run/door", feed: "ipc://\(folder.path)/run/feed")
        program = Locked(
            try ChildProcess(
                "/usr/bin/env", environment + [Programs.path("hub"), "run", "--config", folder.configuration]))
        try await program.value.line { $0.hasPrefix("hub: ready: ") }
    }

    var configuration: String { folder.configuration }
    var data: String { folder.path + "/data" }

    /// Starts a further command of `hub`.
    func start(_ arguments: [String], under environment: [String] = []) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/env", environment + [Programs.path("hub")] + arguments + ["--config", folder.configuration])
    }

    func run(_ arguments: [String], under environment: [String] = []) async throws -> ChildProcess.Result {
        try await start(arguments, under: environment).result()
    }

    func signal(_ number: Int32) { program.value.signal(number) }

    /// Returns when it has ended, however it did.
    func waitForEnd() async { _ = await program.value.result() }

    /// Ends the hub in order; its exit code.
    func stop() async throws -> Int32 {
        program.value.signal(SIGTERM)
        return await program.value.result().code
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
