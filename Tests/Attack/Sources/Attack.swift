/// A hostile program's attack on a hub, and the promise that must hold nevertheless.
///
/// Each attack is in a file of this folder and in ``all``. It runs its own hub, and judges it as a person or another program sees it.
struct Attack: Sendable {
    /// The name in `hub-attack NAME`.
    let name: String
    /// The attack and the promise that must hold: one sentence each.
    let does, holds: String
    let run: @Sendable (Scene) async throws -> Void

    static let all: [Attack] = [
        .importers, .singleRecords, .manySessions, .largeEvents, .quietListener, .leftBehind, .dearQuestions, .leavers,
        .hostilePlugin, .lyingDisk,
    ]
}

/// An observation of an attack.
struct Finding: Codable, Sendable {
    let what: String
    var value: Double
    let unit: String
    /// The maximum; `nil` if the value is only reported.
    let atMost: Double?
    /// Whether the maximum holds only on a machine that does nothing besides: with `--quick` it is not judged.
    let isTime: Bool

    var holds: Bool { atMost.map { value <= $0 } ?? true }
}
