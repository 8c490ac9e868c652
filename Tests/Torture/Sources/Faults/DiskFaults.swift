/// The hub's disk is full.
struct FullDisk: Fault {
    var description: String { "full disk" }
    var words: [String] { ["full", "No space left"] }
    var patience: Int64? { 1_500 }

    func apply(to scene: Scene) async throws { try scene.needDisk().fill() }
    func lift(from scene: Scene) async throws { try scene.needDisk().empty() }
}

/// The machine is restarted with the hub's disk read-only, which the hub finds out when it starts.
struct ReadOnlyDisk: Fault {
    var description: String { "read-only disk" }
    var words: [String] { ["read-only", "readOnly", "Read-only"] }
    var patience: Int64? { 1_500 }

    func apply(to scene: Scene) async throws {
        let disk = try scene.needDisk()
        try await scene.withoutHub {
            // A program that the hub had started may hold a file for a moment longer.
            if await !poll(within: .seconds(5), until: { disk.set(isReadOnly: true) }) {
                throw NotPossible("a program has a file of the disk open for writing")
            }
        }
    }

    func lift(from scene: Scene) async throws { _ = try scene.needDisk().set(isReadOnly: false) }
}

/// The hub's disk does not answer: a process that writes waits in the kernel and cannot even be killed.
struct FrozenDisk: Fault {
    var description: String { "frozen disk" }
    var words: [String] { ["has not returned for", "does not answer"] }
    var patience: Int64? { 11_500 }

    func apply(to scene: Scene) async throws { try scene.needDisk().freeze() }
    func lift(from scene: Scene) async throws { try scene.needDisk().thaw() }
}

/// Calls of the hub on files of its store fail, hang, write only a part, or take long.
struct FailingFile: Fault {
    enum Operation: String { case read, write, sync }

    static let stores = ["hub.sqlite", "hub.sqlite-wal", "hub.sqlite.sequences"]

    let operation: Operation
    /// The kind of fault, as in `Tests/Support/Faults/faults.c`.
    let kind: String
    let files: [String]
    let milliseconds: Int

    init(_ operation: Operation, _ kind: String, _ files: [String], milliseconds: Int = 0) {
        (self.operation, self.kind, self.files, self.milliseconds) = (operation, kind, files, milliseconds)
    }

    var description: String { "\(operation) \(kind) \(files.joined(separator: "+"))" }
    var words: [String] {
        switch kind {
        case "eio": ["input", "I/O error", "Input/output"]
        case "full": ["full", "No space left"]
        // The hub gets the error from SQLite, which reports a failed write as a disk error unless the disk is full.
        case "readonly": ["read-only", "readOnly", "Read-only", "I/O error", "input"]
        default: ["has not returned for", "does not answer"]
        }
    }
    var patience: Int64? {
        switch kind {
        case "eio", "full", "readonly": 1_500
        case "hang": 11_500
        default: nil
        }
    }

    func apply(to scene: Scene) async throws {
        try scene.tellHub(description, files.map { "\(operation) \(kind) \($0) \(milliseconds)" })
    }
    func lift(from scene: Scene) async throws { try scene.tellHub(description, []) }
}
