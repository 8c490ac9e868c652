import FoundationEssentials
import PluginKit
import ScaleProtocols

/// The scale's user numbers for the hub's persons, counted from 1 and never reused.
struct Numbers: Codable, Sendable, Hashable {
    private var byPerson: [String: UInt32] = [:]

    private static let key = "users"

    static func read(_ state: PluginState) async throws -> Numbers {
        guard let text = try await state.text(key) else { return Numbers() }
        return try JSONDecoder().decode(Numbers.self, from: Data(text.utf8))
    }

    func write(_ state: PluginState) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try await state.set(Self.key, to: .text(String(decoding: try encoder.encode(self), as: UTF8.self)))
    }

    func person(of serial: UInt32) -> String? { byPerson.first { $0.value == serial }?.key }

    /// The number for a new user: the given one, the person's, or the next free one.
    mutating func number(_ arguments: PluginSettings, avoiding present: [UInt32?]) throws -> UInt32 {
        let given = arguments["serial"]?.integer.flatMap { UInt32(exactly: $0) }
        guard let person = arguments["person"]?.string else {
            guard let given else { throw CommandFailure("command", "give person, or serial") }
            return given
        }
        let others = Set(byPerson.filter { $0.key != person }.values)
        let taken = others.union(present.compactMap(\.self))
        // Refuse it even if the scale has it: a later `users-delete` would delete the other person's memory.
        if let given, others.contains(given) {
            throw CommandFailure("command", "serial: \(given) is another person's")
        }
        let number = given ?? byPerson[person] ?? (1...UInt32.max).first { !taken.contains($0) } ?? 1
        byPerson[person] = number
        return number
    }

    /// The number of an existing user.
    func known(_ arguments: PluginSettings) throws -> UInt32 {
        if let given = arguments["serial"]?.integer.flatMap({ UInt32(exactly: $0) }) { return given }
        guard let person = arguments["person"]?.string else {
            throw CommandFailure("command", "give person, or serial")
        }
        guard let number = byPerson[person] else {
            throw CommandFailure("command", "person: no user of the scale was created for \"\(person)\"; give serial")
        }
        return number
    }
}
