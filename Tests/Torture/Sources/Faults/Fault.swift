import Platform

/// Something that is done to the hub's environment, and undone; each kind is a type.
protocol Fault: Sendable, CustomStringConvertible {
    /// The hub must use one of these words in its status, its log or its last lines if it confirms nothing because of this fault.
    var words: [String] { get }
    /// The milliseconds for which the hub may confirm nothing without a reason; `nil` if it need not notice the fault.
    var patience: Int64? { get }
    mutating func apply(to scene: Scene) async throws
    mutating func lift(from scene: Scene) async throws
}

extension Fault {
    var words: [String] { [] }
    var patience: Int64? { nil }
}

/// A fault that is not possible on this machine, or at this moment.
struct NotPossible: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The faults of disk and store, which come one after the other, while kills, clock jumps and cut wires go on.
enum StoreFault: String, CaseIterable, Sendable {
    case fullDisk, readOnlyDisk, frozenDisk, failingWrite, failingSync, failingRead, shortWrite, slowDisk, hangingSync
    case powerCut, lyingDisk, lostFile, cutTail, restore, damagedPage

    func make(_ chance: inout SeededGenerator) -> any Fault {
        switch self {
        case .fullDisk: FullDisk()
        case .readOnlyDisk: ReadOnlyDisk()
        case .frozenDisk: FrozenDisk()
        case .failingWrite:
            FailingFile(
                .write, ["eio", "full", "readonly"].randomElement(using: &chance) ?? "eio",
                [FailingFile.stores.randomElement(using: &chance) ?? "hub.sqlite"])
        case .failingSync: FailingFile(.sync, "eio", [FailingFile.stores.randomElement(using: &chance) ?? ""])
        case .failingRead: FailingFile(.read, "eio", ["hub.sqlite", "hub.sqlite-wal"])
        case .shortWrite: FailingFile(.write, "short", FailingFile.stores)
        case .slowDisk:
            FailingFile(.sync, "slow", FailingFile.stores, milliseconds: Int.random(in: 20...300, using: &chance))
        case .hangingSync: FailingFile(.sync, "hang", ["hub.sqlite-wal"])
        case .powerCut: PowerCut(start: chance.next())
        case .lyingDisk: LyingDisk(start: chance.next(), keepsSequences: false)
        case .lostFile: LyingDisk(start: chance.next(), keepsSequences: true)
        case .cutTail: CutTail()
        case .restore: Restore(isKilled: Bool.random(using: &chance))
        case .damagedPage: DamagedPage(chance: chance.next(), isPassing: Bool.random(using: &chance))
        }
    }

    /// Whether it may last longer than the time for which the hub may be silent.
    var mayBeLong: Bool { self == .frozenDisk || self == .hangingSync }
}
