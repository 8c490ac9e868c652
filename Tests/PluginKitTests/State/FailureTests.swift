import Foundation
import HubProcess
import PluginKit
import Testing

@Suite struct `A state file that cannot be used` {
    let directory: TemporaryFolder
    init() throws { directory = try TemporaryFolder() }

    private var file: String { directory.state + "/state.db" }

    /// Makes a file with some content, closes it and writes `bytes` over it at `offset`.
    private func damage(at offset: UInt64, _ bytes: [UInt8]) throws {
        let state = try PluginState(directory: directory.state)
        try state.spool([[record(5)]])
        try state.close()
        let handle = try #require(FileHandle(forUpdatingAtPath: file))
        try handle.seek(toOffset: offset)
        handle.write(Data(bytes))
        try handle.close()
    }

    /// The error of opening the file, after a check that the attempt changed nothing and left no lock.
    private func refusal() throws -> PluginStateError? {
        let before = FileManager.default.contents(atPath: file)
        let error = failure { _ = try PluginState(directory: directory.state) }
        #expect(FileManager.default.contents(atPath: file) == before)
        #expect(failure { _ = try PluginState(directory: directory.state) }?.code == error?.code)
        #expect(error?.message.contains(file) == true)
        return error
    }

    @Test func `a file that is not a database is reported as damaged and not changed`() throws {
        try damage(at: 0, record(4096, 0x2A))
        #expect(try refusal()?.code == .corrupt)
    }

    @Test func `a damaged page is found when the file is opened`() throws {
        try damage(at: 4096, record(4096 * 5, 0xFF))
        #expect(try refusal()?.code == .corrupt)
    }

    @Test func `a truncated file is reported as damaged`() throws {
        try damage(at: 0, [])
        #expect(truncate(file, 4096 * 2) == 0)
        #expect(try refusal()?.code == .corrupt)
    }

    @Test func `a newer schema is refused with both numbers`() throws {
        try damage(at: 60, [0, 0, 0, 99])  // The header's user_version.
        let error = try refusal()
        #expect(error?.code == .newerSchema)
        #expect(error?.message.contains("schema 99") == true)
        #expect(error?.message.contains("up to 1") == true)
    }

    @Test func `another program's database is refused`() throws {
        try damage(at: 68, [1, 2, 3, 4])  // The header's application_id.
        #expect(try refusal()?.code == .corrupt)
    }

    @Test func `a file in the place of the directory is refused with its path`() throws {
        #expect(FileManager.default.createFile(atPath: directory.state, contents: Data()))
        let error = failure { _ = try PluginState(directory: directory.state) }
        #expect(error?.code == .io)
        #expect(error?.message.contains(directory.state) == true)
    }

    @Test func `a full disk refuses records that do not fit, and stored ones stay available`() throws {
        var limits = PluginState.Limits()
        limits.fileBytes = 200_000
        var state = try PluginState(directory: directory.state, limits: limits)
        var accepted: Int64 = 0
        var error: PluginStateError?
        while error == nil {
            error = failure {
                try state.transaction { t in
                    try t.spool([[record(5000)], [record(5000)]])
                    try t.set("count", to: .integer((try t.integer("count") ?? 0) + 1))
                }
            }
            if error == nil { accepted += 1 }
        }
        #expect(error?.code == .diskFull)
        #expect(error?.message.contains("aaaa") == false, "the error text contains a record")
        #expect(accepted > 5)
        // A disk failure rolls back the transaction even if the caller catches the error.
        #expect(
            failure {
                try state.transaction { t in
                    try t.set("count", to: .integer(-1))
                    _ = try? t.spool(Array(repeating: [record(5000)], count: 50))
                }
            }?.code == .diskFull)
        try state.close()
        state = try PluginState(directory: directory.state, limits: limits)
        #expect(try state.integer("count") == accepted)
        #expect(try state.counters().pending == accepted * 2)
        try state.remove(upTo: 4, as: .stored)
        try state.spool([[record(5000)], [record(5000)]])
    }
}
