import HubProcess
/// The wall clock of the hub and of the programs beside it jumps; the monotonic clock runs on evenly.
struct ClockJump: Fault {
    let seconds: Int
    var description: String { "clock \(seconds > 0 ? "+" : "")\(seconds)s" }

    func apply(to scene: Scene) async throws {
        try scene.tellHub("clock", ["clock \(seconds)"])
        try scene.tellGuests("clock", ["clock \(seconds)"])
    }
    func lift(from scene: Scene) async throws {
        try scene.tellHub("clock", [])
        try scene.tellGuests("clock", [])
    }
}

/// The disk with spool and state of the sources that the hub does not start fails.
struct FailingSpool: Fault {
    /// The fault, as in `Tests/Support/Faults/faults.c`.
    let line: String
    var description: String { "spool \(line)" }

    static let lines = ["sync eio", "write full", "write readonly", "write short", "sync slow"]

    func apply(to scene: Scene) async throws {
        try scene.tellGuests("spool", ["state.db", "state.db-wal"].map { "\(line) \($0) 100" })
    }
    func lift(from scene: Scene) async throws { try scene.tellGuests("spool", []) }
}

/// Nothing passes between the hub and the source on the other machine, and neither gets an error.
struct CutWire: Fault {
    var description: String { "wire cut" }

    func apply(to scene: Scene) async throws { try scene.needMachine().setWire(isWhole: false) }
    func lift(from scene: Scene) async throws { try scene.needMachine().setWire(isWhole: true) }
}

/// One end of a connection dies while the wire is cut, and the other end does not notice.
struct HalfOpen: Fault {
    /// The end that dies: the hub, or the source on the other machine.
    let victim: String
    var description: String { "half-open by \(victim)" }

    func apply(to scene: Scene) async throws {
        try scene.needMachine().setWire(isWhole: false)
        scene.programs[victim]?.kill()
        // The kernel sends the end of the connection into the cut wire.
        _ = await scene.programs[victim]?.goes(within: 3)
    }
    func lift(from scene: Scene) async throws {
        try scene.needMachine().setWire(isWhole: true)
        scene.programs[victim]?.begin()
    }
}
