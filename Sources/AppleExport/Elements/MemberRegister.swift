/// The members of correlations and workouts that have been given, by the marks of their keys, and of which.
struct MemberRegister {
    private var owners: [UInt64: UInt64] = [:]
    /// More than anyone writes down of their meals in a life; a hostile file that has more is read without knowing them.
    private static let bound = 1_000_000

    func contains(_ mark: UInt64) -> Bool { owners[mark] != nil }

    /// How often this member has been taken by others than `owner`: 0 where it is the first's, whose again.
    mutating func claim(_ mark: UInt64, by owner: UInt64) -> Bool {
        if let known = owners[mark] { return known == owner }
        if owners.count < Self.bound { owners[mark] = owner }
        return true
    }
}
