import Foundation
import HubProcess
import PluginKit
import Testing

@Suite struct `The state of a plugin` {
    let directory: TemporaryFolder
    init() throws { directory = try TemporaryFolder() }

    struct Refusal: Error {}

    @Test func `values are returned as they were stored after a restart`() throws {
        let values: [String: StateValue] = [
            "cursor": .text("abcdefgh-12345"), "empty": .text(""), "größe": .text("⚖️"), "min": .integer(.min),
            "bytes": .bytes([0, 1, 255]), "none": .bytes([]),
        ]
        var state = try PluginState(directory: directory.state)
        for (key, value) in values { try state.set(key, to: value) }
        try state.set("gone", to: .integer(1))
        try state.set("gone", to: nil)
        try state.close()
        state = try PluginState(directory: directory.state)
        for (key, value) in values {
            #expect(try state.transaction { t in try t.value(key) } == value)
        }
        #expect(try state.integer("gone") == nil)
        #expect(try state.transaction { t in try t.keys(prefix: "m") } == ["min"])
        #expect(try state.transaction { t in try t.keys() }.count == values.count)
    }

    @Test func `a value of another kind than requested is an error and does not count as missing`() throws {
        let state = try PluginState(directory: directory.state)
        try state.set("cursor", to: .text("7"))
        #expect(failure { _ = try state.integer("cursor") }?.code == .invalid)
        #expect(failure { _ = try state.bytes("cursor") }?.code == .invalid)
        #expect(try state.text("cursor") == "7")
    }

    @Test func `keys and values that SQLite would truncate or the limits forbid are refused`() throws {
        let state = try PluginState(directory: directory.state)
        let bad: [(String, StateValue)] = [
            ("", .integer(1)), (String(repeating: "k", count: 257), .integer(1)), ("a\0b", .integer(1)),
            ("nul", .text("a\0b")), ("long", .bytes(record(1_048_577))),
        ]
        for (key, value) in bad {
            #expect(failure { try state.set(key, to: value) }?.code == .invalid)
        }
        #expect(try state.transaction { t in try t.keys() } == [])
        try state.set(String(repeating: "k", count: 256), to: .bytes(record(1_048_576)))
    }

    @Test func `state and spool change together or not at all`() throws {
        let state = try PluginState(directory: directory.state)
        #expect(throws: Refusal.self) {
            try state.transaction { t in
                try t.set("cursor", to: .integer(1))
                try t.spool([[record(1)]])
                throw Refusal()
            }
        }
        #expect(try state.integer("cursor") == nil)
        #expect(try state.counters() == SpoolCounters())
        let ids = try state.transaction { t in
            try t.set("cursor", to: .integer(2))
            return try t.spool([[record(1)]])
        }
        #expect(ids == 1..<2)
        #expect(try state.integer("cursor") == 2)
        #expect(try state.counters().pending == 1)
    }

    @Test func `a failed transaction does not affect concurrent ones`() async throws {
        let state = try PluginState(directory: directory.state)
        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    let failed = number % 5 == 0
                    do {
                        try await state.transaction { t in
                            try t.spool([[Array("\(number)".utf8)]])
                            try t.set("\(number)", to: .integer(1))
                            if failed { throw Refusal() }
                        }
                        #expect(!failed)
                    } catch is Refusal { #expect(failed) }
                }
            }
            try await group.waitForAll()
        }
        let batch = try await state.nextBatch(maximumRecords: 1000, maximumBytes: 10_000)
        let numbers = Set(batch.compactMap { Int(String(decoding: $0.bytes, as: UTF8.self)) })
        #expect(numbers == Set((0..<200).filter { $0 % 5 != 0 }))
        #expect(batch.map(\.id) == Array(1...160))
        #expect(try await state.transaction { t in try t.keys() }.count == 160)
    }

    @Test func `threads and tasks may use it at the same time`() async throws {
        let state = try PluginState(directory: directory.state)
        async let tasks: Void = {
            for _ in 0..<20 { try await state.spool([[record(1)]]) }
        }()
        let thread = Task.detached {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.detachNewThread {
                    continuation.resume(with: Result { for _ in 0..<20 { try state.spool([[record(1)]]) } })
                }
            }
        }
        try await tasks
        try await thread.value
        #expect(try await state.counters().pending == 40)
    }

    @Test func `the lock is not taken through a symbolic link, and the link's target is not changed`() throws {
        let mine = directory.state + ".mine"
        try Data("what I wrote".utf8).write(to: URL(fileURLWithPath: mine))
        defer { try? FileManager.default.removeItem(atPath: mine) }
        try FileManager.default.createDirectory(atPath: directory.state, withIntermediateDirectories: true)
        let lock = directory.state + "/lock"
        try FileManager.default.createSymbolicLink(atPath: lock, withDestinationPath: mine)
        let error = failure { _ = try PluginState(directory: directory.state) }
        #expect(error?.message.contains("\(lock): it is a symbolic link") == true)
        #expect(try String(contentsOfFile: mine, encoding: .utf8) == "what I wrote")
        try FileManager.default.removeItem(atPath: lock)
        try PluginState(directory: directory.state).close()
    }

    @Test func `a closed state refuses calls, and its directory is free`() throws {
        let state = try PluginState(directory: directory.state)
        try state.close()
        try state.close()
        #expect(failure { try state.spool([[record(1)]]) }?.code == .closed)
        let second = try PluginState(directory: directory.state)
        let third = failure { _ = try PluginState(directory: directory.state) }
        #expect(third?.code == .locked)
        #expect(third?.message.contains("process \(getpid());") == true)
        try second.close()
    }

    @Test func `a call from inside a transaction traps at once instead of waiting for ever`() async {
        await #expect(processExitsWith: .failure) {
            let directory = try TemporaryFolder()
            let state = try PluginState(directory: directory.state)
            @Sendable func count() throws -> Int64 { try state.counters().pending }
            func nest() throws { _ = try state.transaction { _ in try count() } }
            try nest()
        }
    }

    @Test func `only the owner may enter the directory or read its files`() throws {
        let state = try PluginState(directory: directory.state + "/a/b")
        try state.set("key", to: .integer(1))
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(directory.state) == 0o700)
        #expect(try mode(directory.state + "/a/b") == 0o700)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.state + "/a/b").sorted()
        #expect(files == ["lock", "state.db", "state.db-shm", "state.db-wal"])
        for file in files { #expect(try mode(directory.state + "/a/b/" + file) == 0o600) }
        try state.close()
    }
}
