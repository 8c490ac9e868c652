/// The members of correlations and workouts that were emitted: the hash of each member's key, with the hash of its owner.
struct MemberRegister {
    private var owners: [UInt64: UInt64] = [:]
    /// More members than anyone records in a lifetime.
    ///
    /// Beyond this bound, a hostile file is read without registering its members.
    private static let bound = 1_000_000

    func contains(_ mark: UInt64) -> Bool { owners[mark] != nil }

    /// Claims a member for `owner`; returns false if another owner has it already.
    mutating func claim(_ mark: UInt64, by owner: UInt64) -> Bool {
        if let known = owners[mark] { return known == owner }
        if owners.count < Self.bound { owners[mark] = owner }
        return true
    }
}
