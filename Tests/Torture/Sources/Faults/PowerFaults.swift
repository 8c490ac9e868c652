import Foundation
import HubProcess
import Platform
import TortureDiary

/// The machine loses power and is restarted, with an honest disk: only data that was not flushed may be anything.
struct PowerCut: Fault {
    /// The number in the boot identity of the restarted machine.
    let start: UInt64
    var description: String { "power cut" }

    func apply(to scene: Scene) async throws {
        guard let hub = scene.programs[Scene.hub] else { return }
        hub.kill()
        guard await hub.goes(within: 5) else { throw NotPossible("the hub does not end") }
        try tearLog(scene)
        try scene.tellHub("boot", ["boot \(String(start, radix: 16))"])
    }
    func lift(from scene: Scene) async throws { scene.programs[Scene.hub]?.begin() }

    private func tearLog(_ scene: Scene) throws {
        let note = try? String(contentsOfFile: scene.flushedLength, encoding: .utf8)
        guard let flushed = note.flatMap({ UInt64($0.trimmingCharacters(in: .newlines)) }),
            let file = try? FileHandle(forUpdating: URL(filePath: scene.data + "/hub.sqlite-wal"))
        else { return }
        defer { try? file.close() }
        let length = try file.seekToEnd()
        guard length > flushed else { return }
        var chance = SeededGenerator(seed: start)
        let kept = UInt64.random(in: flushed...length, using: &chance)
        try file.seek(toOffset: kept)
        try file.write(contentsOf: Data((kept..<length).map { _ in UInt8.random(in: 0...255, using: &chance) }))
        scene.journal.note("\(length - kept) bytes cut off its log", Scene.hub)
    }
}

/// From one moment on, the disk only pretends to keep data, until the power fails.
///
/// If the reserve of sequences is lost with the store, the hub cannot know which records it has confirmed. Peers that have seen more than
/// the store has must then get a new epoch. If that file stays, as when an old store is copied back, the hub reports the missing records.
struct LyingDisk: Fault {
    let start: UInt64
    let keepsSequences: Bool
    /// Planted to prove that the judge finds it: neither the hub nor the judge learns that the machine was restarted.
    let isSecret: Bool
    private var since: Int64 = 0

    init(start: UInt64, keepsSequences: Bool, isSecret: Bool = false) {
        (self.start, self.keepsSequences, self.isSecret) = (start, keepsSequences, isSecret)
    }

    var description: String { isSecret ? "planted" : keepsSequences ? "old store put back" : "lying disk" }

    mutating func apply(to scene: Scene) async throws {
        try FileManager.default.createDirectory(atPath: platter(scene), withIntermediateDirectories: true)
        try await scene.beginHub()
        guard let process = scene.programs[Scene.hub]?.process else { throw NotPossible("the hub does not run") }
        // The copy is of one instant, because the hub is stopped meanwhile.
        since = millisecondsNow()
        process.signal(SIGSTOP)
        defer { process.signal(SIGCONT) }
        guard await poll(within: .seconds(2), until: { Scene.isStopped(process.pid) }) else {
            throw NotPossible("the hub waits for its disk")
        }
        try move(from: scene.data, to: platter(scene))
    }

    func lift(from scene: Scene) async throws {
        let platter = platter(scene)
        defer { try? FileManager.default.removeItem(atPath: platter) }
        if isSecret { return try await scene.withoutHub { try move(from: platter, to: scene.data) } }
        try await scene.takeBack(since: since, isProvable: keepsSequences, description) {
            try move(from: platter, to: scene.data)
            if !keepsSequences { try scene.tellHub("boot", ["boot \(String(start, radix: 16))"]) }
        }
    }

    private func platter(_ scene: Scene) -> String { scene.host.folder.path + "/platter" }

    private func move(from old: String, to new: String) throws {
        let files = FileManager.default
        for name in ["hub.sqlite", "hub.sqlite-wal", "hub.sqlite-shm"]
            + (keepsSequences ? [] : ["hub.sqlite.sequences"])
        {
            try? files.removeItem(atPath: "\(new)/\(name)")
            guard !name.hasSuffix("-shm"), files.fileExists(atPath: "\(old)/\(name)") else { continue }
            try files.copyItem(atPath: "\(old)/\(name)", toPath: "\(new)/\(name)")
        }
    }
}

/// After a power cut, the end of the store's log is missing.
struct CutTail: Fault {
    private var since: Int64 = 0
    private var length: UInt64 = 0
    var description: String { "cut tail" }

    mutating func apply(to scene: Scene) async throws {
        try await scene.beginHub()
        since = millisecondsNow()
        length = try size(scene)
    }

    func lift(from scene: Scene) async throws {
        try await scene.takeBack(since: since, isProvable: true, description) {
            // If the log was restarted meanwhile it is shorter, and the content of the old log is in the store.
            let file = try FileHandle(forWritingTo: log(scene))
            defer { try? file.close() }
            try file.truncate(atOffset: min(length, try size(scene)))
        }
    }

    private func log(_ scene: Scene) -> URL { URL(filePath: scene.data + "/hub.sqlite-wal") }

    private func size(_ scene: Scene) throws -> UInt64 {
        let size = try? FileManager.default.attributesOfItem(atPath: log(scene).path)[.size] as? UInt64
        guard let size else { throw NotPossible("the store has no log at the moment") }
        return size
    }
}
