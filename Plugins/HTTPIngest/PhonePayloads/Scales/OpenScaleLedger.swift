import Samples

/// The known records of each openScale user.
///
/// The app reports deletions by omitting measurements, or by one event for all of them.
///
/// The plugin stores the ledger itself, so that it needs no right to read stored records.
public struct OpenScaleLedger: Sendable, Hashable {
    /// The types of each measurement by user and time.
    private var users: [String: [String: Set<String>]] = [:]

    public init() {}

    /// Reads the output of ``text``; skips invalid lines.
    public init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard parts.count >= 3 else { continue }
            users[parts[0], default: [:]][parts[1]] = Set(parts[2...])
        }
    }

    /// One line for each measurement: user, time, types.
    public var text: String {
        users.sorted { $0.key < $1.key }.map { user, times in
            times.sorted { $0.key < $1.key }.map { "\(user) \($0.key) \($0.value.sorted().joined(separator: " "))\n" }
                .joined()
        }.joined()
    }

    /// The known users, by number.
    public var userNumbers: Set<String> { Set(users.keys) }

    /// The number of known measurements.
    public var count: Int { users.reduce(0) { $0 + $1.value.count } }

    /// The keys of the records that a step deletes, sorted by user.
    ///
    /// For an unknown measurement (if the plugin's state was lost) it returns all keys that the measurement may have had.
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

    /// The measurements that a list omits.
    ///
    /// Measurements before its first entry are excluded, because the list may have been cut off.
    private func missing(_ user: String, _ times: Set<String>) -> [String] {
        guard let first = times.min() else { return [] }
        return (users[user] ?? [:]).keys.filter { $0 > first && !times.contains($0) }.sorted()
    }

    /// The only user, if there is one.
    ///
    /// App versions before 0.6 do not name the user of a deleted measurement.
    private var only: String? { users.count == 1 ? users.keys.first : nil }

    /// Applies a step after its records and retractions are stored.
    public mutating func apply(_ step: OpenScaleStep) {
        switch step {
        case .has(let user, let time, let types): users[user, default: [:]][time] = Set(types)
        case .deleted(let user, let time): if let user = user ?? only { users[user]?[time] = nil }
        case .only(let user, let times): for time in missing(user, times) { users[user]?[time] = nil }
        case .cleared(let user): if let user { users[user] = nil } else { users = [:] }
        }
    }
}
