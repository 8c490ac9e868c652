import Samples

/// Which records of an openScale user there are: the app says what is gone by leaving it out, or by a word for all of it.
///
/// Kept by the plugin beside the records, so that it needs no right to read what is stored.
public struct OpenScaleLedger: Sendable, Hashable {
    /// Per user and time the types, by their place in ``names``.
    private var users: [String: [String: Set<String>]] = [:]

    public init() {}

    /// Reads what ``text`` wrote; lines that are none are left out.
    public init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard parts.count >= 3 else { continue }
            users[parts[0], default: [:]][parts[1]] = Set(parts[2...])
        }
    }

    /// A line for each measurement: user, time, types.
    public var text: String {
        users.sorted { $0.key < $1.key }.map { user, times in
            times.sorted { $0.key < $1.key }.map { "\(user) \($0.key) \($0.value.sorted().joined(separator: " "))\n" }
                .joined()
        }.joined()
    }

    /// The users that there are, by their numbers.
    public var userNumbers: Set<String> { Set(users.keys) }

    /// How many measurements are known.
    public var count: Int { users.reduce(0) { $0 + $1.value.count } }

    /// The keys of the measurements that a step deletes, with the users in the order of their names.
    ///
    /// Of a measurement that is not known (the plugin's state was lost) all keys that it may have had.
    public func gone(by step: OpenScaleStep) -> [String] {
        switch step {
        case .has(let user, let time, let types):
            return (users[user]?[time] ?? []).subtracting(types).sorted().map { OpenScaleReader.key(time, user, $0) }
        case .deleted(let user, let time):
            guard let user = user ?? only else { return [] }
            let types = users[user]?[time] ?? Set(OpenScaleReader.types)
            return types.sorted().map { OpenScaleReader.key(time, user, $0) }
        case .only(let user, let times):
            return missing(user, times).flatMap { time in
                (users[user]?[time] ?? []).sorted().map { OpenScaleReader.key(time, user, $0) }
            }
        case .cleared(let user):
            let cleared = user.map { [$0] } ?? users.keys.sorted()
            return cleared.flatMap { user in
                (users[user] ?? [:]).sorted { $0.key < $1.key }.flatMap { time, types in
                    types.sorted().map { OpenScaleReader.key(time, user, $0) }
                }
            }
        }
    }

    /// What a list leaves out; what is earlier than all of it may have been cut off.
    private func missing(_ user: String, _ times: Set<String>) -> [String] {
        guard let first = times.min() else { return [] }
        return (users[user] ?? [:]).keys.filter { $0 > first && !times.contains($0) }.sorted()
    }

    /// The one user there is: versions before 0.6 do not say whose measurement is deleted.
    private var only: String? { users.count == 1 ? users.keys.first : nil }

    /// Takes a step into account, when its records and retractions are stored.
    public mutating func apply(_ step: OpenScaleStep) {
        switch step {
        case .has(let user, let time, let types): users[user, default: [:]][time] = Set(types)
        case .deleted(let user, let time): if let user = user ?? only { users[user]?[time] = nil }
        case .only(let user, let times): for time in missing(user, times) { users[user]?[time] = nil }
        case .cleared(let user): if let user { users[user] = nil } else { users = [:] }
        }
    }
}
