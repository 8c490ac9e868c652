import Foundation
import HubClient
import HubProcess
import Synchronization
import Testing

@testable import HubCommand

/// A person at a terminal of their own: reads what is asked, types answers, presses Ctrl-C.
final class Person: Sendable {
    private let near: FileHandle
    private let far: FileHandle
    private let seen = Watched<[UInt8]>([])
    /// How much of it has been waited for already.
    private let place = Mutex(0)

    init() throws {
        var (near, far): (Int32, Int32) = (0, 0)
        try #require(openpty(&near, &far, nil, nil, nil) == 0)
        self.near = FileHandle(fileDescriptor: near, closeOnDealloc: true)
        self.far = FileHandle(fileDescriptor: far, closeOnDealloc: true)
        let (person, seen) = (self.near, seen)
        Thread.detachNewThread {
            // Not by availableData, which ends the process where the other end of a terminal is gone.
            var room = [UInt8](repeating: 0, count: 4_096)
            while case let count = read(person.fileDescriptor, &room, room.count), count > 0 {
                seen.change { $0 += room[..<count] }
            }
        }
    }

    /// All that stood on the terminal, what was typed and echoed too.
    var screen: String { String(decoding: seen.value, as: UTF8.self).replacing("\r\n", with: "\n") }

    /// Starts a program whose terminal this is, so that Ctrl-C reaches it.
    func start(_ arguments: [String], in scene: SetupScene) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/env", ["-C", scene.folder.path, "setsid", "-c", Programs.path("hub")] + arguments,
            environment: scene.environment, terminal: far)
    }

    func type(_ text: String) { near.write(Data(text.utf8)) }

    /// Waits until this is on the screen, behind what was waited for before, and types a line.
    func answer(_ question: String, _ text: String) async throws {
        try await wait(for: question)
        type(text + "\n")
    }

    func wait(for text: String) async throws {
        let start = place.withLock { $0 }
        let wanted = Array(text.utf8)
        await seen.wait(upTo: .seconds(60)) { $0[start...].firstRange(of: wanted) != nil }
        let range = seen.value[start...].firstRange(of: wanted)
        let found = try #require(range, "\(text) was not asked:\n\(screen)")
        place.withLock { $0 = found.upperBound }
    }
}

/// A home of a test's own, in which nothing is set up.
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

    func text(_ path: String? = nil) throws -> String {
        try String(contentsOfFile: path ?? self.path, encoding: .utf8)
    }

    /// All files below the home but those of a running hub.
    var files: [String] {
        let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return names.filter { !$0.hasPrefix(".local") && !$0.hasPrefix("r/") && $0 != "r" }.sorted()
    }

    /// In the scene's own folder: where the tests are run, the project's `hub.conf` would count.
    func start(_ arguments: [String], input: FileHandle? = nil) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/env", ["-C", folder.path, Programs.path("hub")] + arguments, environment: environment,
            input: input)
    }

    func hub(_ arguments: [String], input: FileHandle? = nil) async throws -> ChildProcess.Result {
        try await start(arguments, input: input).result()
    }
}
