import DoorPeer
import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Testing
import ZeroMQ

@testable import HubCommand

/// A terminal whose input a test types in advance.
final class TestTerminal: Sendable {
    /// The program's end of the terminal.
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
    let folder: TemporaryFolder
    private let program: AwaitableValue<ChildProcess>

    /// - Parameters:
    ///   - persons: Tables of `hub.conf`.
    ///   - folder: The folder of the hub; otherwise a new one.
    ///   - environment: Variables for the hub, as `NAME=value`.
    init(
        _ persons: String = "[person.me]\n", in folder: TemporaryFolder? = nil, under environment: [String] = []
    ) async throws {
        let folder = try folder ?? TemporaryFolder()
        try folder.writeSettings(persons)
        self.folder = folder
        endpoints = OwnerEndpoints(door: "ipc://\(folder.path)/run/door", feed: "ipc://\(folder.path)/run/feed")
        program = AwaitableValue(
            try ChildProcess(
                "/usr/bin/env", environment + [Programs.path("hub"), "run", "--config", folder.configuration]))
        try await program.value.line { $0.hasPrefix("hub: ready: ") }
    }

    var configuration: String { folder.configuration }
    /// The text of its `hub.conf`.
    var settings: String { get throws { try String(contentsOfFile: folder.configuration, encoding: .utf8) } }
    var data: String { folder.path + "/data" }

    /// Starts another command of `hub`.
    func start(
        _ arguments: [String], under environment: [String] = [], input: FileHandle? = nil
    ) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/env",
            environment + ["HUB_CONF=\(folder.configuration)", Programs.path("hub")] + arguments, input: input)
    }

    func run(_ arguments: [String], under environment: [String] = []) async throws -> ChildProcess.Result {
        try await start(arguments, under: environment).result()
    }

    /// Runs a command that must end with 0, and write these words to its streams.
    @discardableResult
    func succeed(
        _ arguments: [String], output: String? = nil, errors: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ChildProcess.Result {
        try await expect(arguments, .success, output: output, errors: errors, sourceLocation: sourceLocation)
    }

    /// Runs a command that must end with this code, if one is given, and write these words to its streams.
    @discardableResult
    func expect(
        _ arguments: [String], _ exit: HubExit? = nil, output: String? = nil, errors: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ChildProcess.Result {
        let result = try await run(arguments)
        let message: Comment = "\(arguments): \(result)"
        if let exit { #expect(result.code == exit.rawValue, message, sourceLocation: sourceLocation) }
        if let output { #expect(result.output.contains(output), message, sourceLocation: sourceLocation) }
        if let errors { #expect(result.errors.contains(errors), message, sourceLocation: sourceLocation) }
        return result
    }

    func signal(_ number: Int32) { program.value.signal(number) }

    /// Returns when the hub has ended, for whatever reason.
    func waitForEnd() async { _ = await program.value.result() }

    /// Kills the hub at once, as a power cut would, and returns when it has ended.
    func kill() async {
        signal(SIGKILL)
        await waitForEnd()
    }

    /// Stops the hub in order and returns its exit code.
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
    /// - Parameter interruption: Called once the records are sent; then the call does not wait for an answer.
    func give(_ records: [String], interruption: (() -> Void)? = nil) throws {
        let peer = try DoorPeer(endpoints.door, instance: "test-pub", patience: .seconds(10))
        try peer.give(records)
        if let interruption { return interruption() }
        try peer.areStored()
        try peer.send("BYE", "{}")
        _ = try peer.receive("BYE")
    }
}

extension TemporaryFolder {
    /// Writes a `hub.conf` with the hub's own folders in this one, and these tables.
    func writeSettings(_ tables: String = "[person.me]\n") throws {
        try write("[hub]\ndata = \"\(path)/data\"\nrun = \"\(path)/run\"\n\(tables)")
    }

    /// Writes a plugin that only prints its manifest, and returns the path of its program.
    func writeProbe(_ manifest: String) throws -> String {
        try write(
            "#!/bin/sh\n[ \"$1\" = --describe ] || exit 78\necho '\(manifest)'\n", to: "hub-probe", isProgram: true)
    }
}

extension DoorPeer {
    /// Waits until all records given last are stored.
    func areStored() throws {
        let answer = String(decoding: try receive("STORED"), as: UTF8.self)
        try #require(!answer.contains("rejected"), "\(answer)")
    }
}
