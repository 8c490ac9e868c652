/// What a hostile program does to a hub, and what must hold all the same.
///
/// One is a file of this folder, which adds itself to ``all``. It runs a hub of its own, and finds out by what a person or another program
/// sees of it.
struct Attack: Sendable {
    /// As it is asked for: `hub-attack NAME`.
    let name: String
    /// What it does, and what must hold, a sentence each.
    let does, holds: String
    let run: @Sendable (Scene) async throws -> Void

    static let all: [Attack] = [
        .importers, .singleRecords, .manySessions, .largeEvents, .quietListener, .leftBehind, .dearQuestions, .leavers,
        .hostilePlugin, .lyingDisk,
    ]
}

/// Something that was looked at.
struct Finding: Codable, Sendable {
    let what: String
    var value: Double
    let unit: String
    /// What it may be at most; `nil` where it is only told.
    let atMost: Double?
    /// Whether the bound holds on a machine that has nothing else to do only: it is not judged with `--quick`.
    let isTime: Bool

    var holds: Bool { atMost.map { value <= $0 } ?? true }
}
