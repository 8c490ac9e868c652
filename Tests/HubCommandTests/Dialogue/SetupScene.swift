import Foundation
import HubClient
import HubProcess
import Synchronization
import Testing

@testable import HubCommand

/// A person at a terminal: reads questions, types answers, presses Ctrl-C.
final class Typist: Sendable {
    private let near: FileHandle
    private let far: FileHandle
    private let seen = AwaitableValue<[UInt8]>([])
    /// The end of the output that earlier waits have consumed.
    private let place = Mutex(0)

    init() throws {
        var (near, far): (Int32, Int32) = (0, 0)
        try #require(openpty(&near, &far, nil, nil, nil) == 0)
        self.near = FileHandle(fileDescriptor: near, closeOnDealloc: true)
        self.far = FileHandle(fileDescriptor: far, closeOnDealloc: true)
        let (person, seen) = (self.near, seen)
        Thread.detachNewThread {
            // Not with availableData, which ends the process when the other end of the terminal is closed.
            var room = [UInt8](repeating: 0, count: 4_096)
            while case let count = read(person.fileDescriptor, &room, room.count), count > 0 {
                seen.change { $0 += room[..<count] }
            }
        }
    }

    /// All text on the terminal, including the echo of typed text.
    var screen: String { String(decoding: seen.value, as: UTF8.self).replacing("\r\n", with: "\n") }

    /// Starts a program with this as its controlling terminal, so that Ctrl-C reaches it.
    func start(_ arguments: [String], in scene: SetupScene) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/env", ["-C", scene.folder.path, "setsid", "-c", Programs.path("hub")] + arguments,
            environment: scene.environment, terminal: far)
    }

    func type(_ text: String) { near.write(Data(text.utf8)) }

    /// Waits until this text follows the text of earlier waits, and types a line.
    func answer(_ question: String, _ text: String) async throws {
        try await wait(for: question)
        type(text + "\n")
    }

    func wait(for text: String) async throws {
        let start = place.withLock { $0 }
        let wanted = Data(text.utf8)
        await seen.wait(upTo: .seconds(60)) { Data($0[start...]).range(of: wanted) != nil }
        let range = Data(seen.value[start...]).range(of: wanted)
        let found = try #require(range, "\(text) was not asked:\n\(screen)")
        place.withLock { $0 = start + found.upperBound }
    }
}

/// A home folder for one test, without any setup.
struct SetupScene {
    let folder: TemporaryFolder
    var environment: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        environment = [
            "HOME": folder.path, "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "XDG_RUNTIME_DIR": "\(folder.path)/r",
            "HUB_CONF": "", "TZ": "Europe/Berlin", "NO_COLOR": "1",
        ]
        try FileManager.default.createDirectory(
            atPath: folder.path + "/r", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    var path: String { folder.path + "/.config/health-hub/hub.conf" }

    func text(_ path: String? = nil) throws -> String { try String(contentsOfFile: path ?? self.path, encoding: .utf8) }

    /// All files in the home folder except those of a running hub.
    var files: [String] {
        let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return names.filter { !$0.hasPrefix(".local") && !$0.hasPrefix("r/") && $0 != "r" }.sorted()
    }

    /// A person at the terminal of `hub setup`.
    func typist(_ arguments: String...) throws -> (Typist, setup: ChildProcess) {
        let person = try Typist()
        return (person, try person.start(["setup"] + arguments, in: self))
    }

    /// Runs in the scene's folder: in the working directory of the tests, the project's `hub.conf` would be used.
    func start(_ arguments: [String], input: FileHandle? = nil) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/env", ["-C", folder.path, Programs.path("hub")] + arguments, environment: environment,
            input: input)
    }

    func hub(_ arguments: [String], input: FileHandle? = nil) async throws -> ChildProcess.Result {
        try await start(arguments, input: input).result()
    }
}
