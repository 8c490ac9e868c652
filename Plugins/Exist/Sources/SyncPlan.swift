import PluginKit

/// The values to send now: each day whose value differs from Exist's, and the most recent days.
struct SyncPlan: Sendable {
    struct Item: Hashable, Sendable {
        let key: DayKey
        let value: ExistValue
        let isChanged: Bool
    }

    /// By attribute, then by date.
    private(set) var items: [Item] = []
    private(set) var unchanged = 0
    /// Days that Exist holds and the hub does not.
    private(set) var orphaned: [DayKey] = []
    /// Number of days that are not sent, by reason.
    private(set) var leftOut: [String: Int] = [:]

    /// - Parameters:
    ///   - days: the hub's days, each once.
    ///   - usable: attributes that are ours.
    init(_ days: some Sequence<StoredRecord>, held: HeldDays, judge: DayPolicy, usable: Set<String>) {
        var desired: [DayKey: ExistValue] = [:]
        var known: Set<DayKey> = []
        for stored in days {
            if case .day = stored.record, let key = judge.key(of: stored) { known.insert(key) }
            switch judge.verdict(on: stored) {
            case .send(let key, let value): desired[key] = value
            case .never(let reason): leftOut[reason, default: 0] += 1
            case .later: leftOut["its day has not come", default: 0] += 1
            case .gone: break
            }
        }
        let regular = judge.today.adding(days: -judge.settings.regularDays)
        for (key, value) in desired {
            let there = held[key]
            if !usable.contains(key.attribute) {
                leftOut["\(key.attribute) belongs to another service at Exist", default: 0] += 1
            } else if there.refused?.digits == value.digits {
                leftOut["Exist has refused this value", default: 0] += 1
            } else if there.has(value), key.date <= regular {
                unchanged += 1
            } else {
                items.append(Item(key: key, value: value, isChanged: !there.has(value)))
            }
        }
        items.sort { $0.key < $1.key }
        orphaned = held.days.filter { key, held in
            held.mayHold && !known.contains(key) && key.date >= judge.first && usable.contains(key.attribute)
        }.map(\.key).sorted()
    }

    /// Whether any value would change at Exist.
    var isNeeded: Bool { items.contains { $0.isChanged } }

    var chunks: [[Item]] {
        stride(from: 0, to: items.count, by: ExistService.batch).map {
            Array(items[$0..<min($0 + ExistService.batch, items.count)])
        }
    }
}
