import Foundation
import Glibc
import HubProcess
import Platform
import TortureDiary

/// A person takes a backup, lets the hub run on, and restores the backup.
struct Restore: Fault {
    /// Whether the hub is killed before the restore, or stopped normally.
    let isKilled: Bool
    private var backup = Backup()

    init(isKilled: Bool) { self.isKilled = isKilled }

    var description: String { "restore" }

    mutating func apply(to scene: Scene) async throws { backup = try await Backup(scene) }

    func lift(from scene: Scene) async throws { try await backup.restore(in: scene, isKilled: isKilled, description) }
}

/// A backup made with `hub backup`.
struct Backup: Sendable {
    private var file = ""
    private var since: Int64 = 0

    init() {}

    init(_ scene: Scene) async throws {
        since = millisecondsNow()
        file = "\(scene.host.folder.path)/backup-\(since).sqlite"
        let made = try await scene.host.command("backup", file)
        guard made.status == 0 else { throw NotPossible("hub backup: \(made.errors.last ?? "\(made.status)")") }
    }

    /// Replaces the store with the backup, as a person does.
    func restore(in scene: Scene, isKilled: Bool, _ why: String) async throws {
        try await scene.takeBack(since: since, isProvable: false, isOrderly: !isKilled, why) {
            var restored = try await scene.host.command("restore", file, "--yes")
            // A second restore in the same second finds the name for the replaced store taken, and reports that.
            let end = ContinuousClock.now + .seconds(3)
            while restored.errors.contains(where: { $0.contains("try again") }), ContinuousClock.now < end {
                restored = try await scene.host.command("restore", file, "--yes")
            }
            guard restored.status == 0 else {
                throw Scene.Broken("hub restore ended with \(restored.status): \(restored.errors)")
            }
        }
    }
}

/// The disk returns some pages with other bytes than were written; a person checks the store and decides.
struct DamagedPage: Fault {
    let chance: UInt64
    /// Whether a later read returns the right bytes again.
    let isPassing: Bool
    private var backup = Backup()
    private var pages: [UInt64: (good: Data, bad: Data)] = [:]

    init(chance: UInt64, isPassing: Bool) { (self.chance, self.isPassing) = (chance, isPassing) }

    var description: String { "damaged pages" }
    var words: [String] { ["damage", "does not have the sum"] }

    mutating func apply(to scene: Scene) async throws {
        backup = try await Backup(scene)
        var damaged: [UInt64: (good: Data, bad: Data)] = [:]
        let chance = chance
        // SQLite would read the log instead of a page, so the hub ends normally: then its log is in the file.
        try await scene.withoutHub(isOrderly: true) {
            let file = try FileHandle(forUpdating: store(scene))
            defer { try? file.close() }
            let count = try file.seekToEnd() / 4_096
            guard count > 1 else { throw NotPossible("the whole store is in its log") }
            var dice = SeededGenerator(seed: chance)
            for _ in 0..<3 {
                let page = UInt64.random(in: 0..<count, using: &dice)
                guard damaged[page] == nil else { continue }
                try file.seek(toOffset: page * 4_096)
                guard let good = try file.read(upToCount: 4_096), good.count == 4_096 else { continue }
                var bad = good
                bad[Int.random(in: 0..<4_096, using: &dice)] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
                try file.seek(toOffset: page * 4_096)
                try file.write(contentsOf: bad)
                damaged[page] = (good, bad)
            }
        }
        pages = damaged
    }

    func lift(from scene: Scene) async throws {
        // doctor leaves a stopped hub alone, so the hub must continue.
        scene.programs[Scene.hub]?.process?.signal(SIGCONT)
        scene.journal.note("continue", Scene.hub)
        let looked = try await scene.host.command("doctor", "--deep")
        let isDamaged = looked.lines.contains { line in words.contains { line.contains($0) } }
        let left = try leftPages(scene)
        if !left.isEmpty, !isDamaged {
            scene.find("\(left.count) damaged pages are in the store, but hub doctor --deep prints \(looked.lines)")
        }
        // The hub may have replaced a damaged page since, with the content that it had in memory.
        guard isDamaged else { return }
        scene.journal.note("damage found", Scene.hub)
        guard isPassing else { return try await backup.restore(in: scene, isKilled: false, description) }
        try await scene.withoutHub {
            let file = try FileHandle(forUpdating: store(scene))
            defer { try? file.close() }
            for (page, good) in try leftPages(scene) {
                try file.seek(toOffset: page * 4_096)
                try file.write(contentsOf: good)
            }
            let fixed = try await scene.host.command("doctor", "--deep", "--fix")
            if fixed.lines.contains(where: { $0.contains("error    store") && !$0.contains("fixed") }) {
                scene.journal.note("doctor: \(fixed.lines.joined(separator: " | "))", Scene.hub)
            }
        }
    }

    private func store(_ scene: Scene) -> URL { URL(filePath: scene.data + "/hub.sqlite") }

    /// The right bytes of those pages that still are as they were damaged.
    private func leftPages(_ scene: Scene) throws -> [UInt64: Data] {
        let file = try FileHandle(forReadingFrom: store(scene))
        defer { try? file.close() }
        return try pages.filter { page, bytes in
            try file.seek(toOffset: page * 4_096)
            return try file.read(upToCount: 4_096) == bytes.bad
        }.mapValues(\.good)
    }
}
