import PluginKit
import ScaleProtocols

/// The owner of each position on the scale, from hub.conf.
///
/// The hub assigns a user's weighings to the owner of the position, so a user for a person is created only at that position.
struct Slots: Sendable {
    private let owners: [Int: String]
    private let positions: [String: Int]
    private let instance: String

    init(_ call: CommandCall) {
        let pairs = call.hub.persons.compactMap { person in person.profile?.slot.map { ($0, person.name) } }
        owners = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
        positions = Dictionary(pairs.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        instance = call.hub.instance
    }

    func owner(of position: Int) -> String? { owners[position] }

    /// The position for a new user.
    ///
    /// - Parameter present: the scale's users by position.
    /// - Throws: `CommandFailure` `refused`, with a command that helps.
    func position(_ call: CommandCall, _ present: [UInt32?]) throws -> HS5Position {
        let given = call.arguments["position"]?.integer.map { Int($0) }
        let wanted: Int?
        if let person = call.arguments["person"]?.string {
            wanted = try position(of: person, given: given, present)
        } else if let given, let owner = owners[given] {
            throw CommandFailure(
                "refused",
                "position: \(given) is \(owner)'s in hub.conf, so what this user weighs would be \(owner)'s; give "
                    + "person=\(owner), or another position")
        } else {
            wanted = given
        }
        guard let position = wanted ?? free(present) else { throw full(present) }
        guard let position = HS5Position(position) else {
            throw CommandFailure("refused", "position: a HS5 has positions 0 to 19, and \(position) is none of them")
        }
        return position
    }

    private func position(of person: String, given: Int?, _ present: [UInt32?]) throws -> Int {
        guard let slot = positions[person] else {
            let open = given.flatMap { owners[$0] == nil ? $0 : nil } ?? free(present)
            guard let open else { throw full(present) }
            throw CommandFailure(
                "refused",
                "\(person) has no position on this scale in hub.conf, which decides whose this user's weighings are. First, as the "
                    + "owner: hub device \(instance) slot \(person) \(open)")
        }
        guard given == nil || given == slot else {
            throw CommandFailure(
                "refused",
                "position: hub.conf gives \(person) position \(slot) on this scale; leave position out, or change that first, "
                    + "as the owner: hub device \(instance) slot \(person) \(given ?? slot)")
        }
        return slot
    }

    /// The first position that is not taken and has no owner.
    private func free(_ present: [UInt32?]) -> Int? {
        (0..<HS5Position.count).first { position in
            owners[position] == nil && (!present.indices.contains(position) || present[position] == nil)
        }
    }

    private func full(_ present: [UInt32?]) -> CommandFailure {
        let isFull = !present.isEmpty && present.allSatisfy { $0 != nil }
        return CommandFailure(
            "refused",
            isFull
                ? "HS5: all 20 positions are taken; users-delete one of them, users-list shows whose they are"
                : "HS5: each position is taken or a person's in hub.conf; users-delete one, or take a slot out of hub.conf"
        )
    }
}
