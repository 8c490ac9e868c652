import HubStore
import Samples
import Testing

/// A record's current version as the tests know it.
struct ModelVersion {
    var record: StoredRecord
    /// The sample or day itself, also while it is retracted.
    var put: Record
    var isRetraction: Bool { record.record.retraction != nil }

    var kind: RecordKind {
        switch put {
        case .sample(let sample): sample.value.kind == .category ? .category : .quantity
        default: .day
        }
    }
}

/// A simple model in memory of the ledger for one sink.
struct SinkModel {
    enum State: Equatable {
        case pending, retrying(at: Int64), unauthorized, delivered, refused, superseded, skipped
        var isOpen: Bool {
            switch self {
            case .pending, .retrying, .unauthorized: true
            default: false
            }
        }
    }

    /// The last wanted version of a record.
    struct Entry {
        var sequence: Int64
        var state: State
        var isDeparture = false
    }

    var terms: SinkTerms
    var account: [String: Int64] = [:]
    var entries: [Int64: Entry] = [:]
    /// Whether the target has confirmed that it has the record.
    var holds: [Int64: Bool] = [:]
    var delivered: [Int64: Int64] = [:]
    /// The newest version with a final result.
    var settled: [Int64: Int64] = [:]
    /// Versions that were superseded before they were answered.
    var replaced: Set<[Int64]> = []
    /// How often each version of a record was delivered without an answer; the target may have it.
    var given: [Int64: [Int64: Int]] = [:]
    var isPaused = false

    init(_ terms: SinkTerms) { self.terms = terms }

    mutating func count(_ what: String, _ change: Int64 = 1) { account[what, default: 0] += change }

    private static func name(_ state: State) -> String {
        switch state {
        case .pending: "pending"
        case .retrying, .unauthorized: "retrying"
        case .delivered: "delivered"
        case .refused: "refused"
        case .superseded: "superseded"
        case .skipped: "skipped"
        }
    }

    mutating func move(_ number: Int64, to state: State) {
        guard let entry = entries[number] else { return }
        count(Self.name(entry.state), -1)
        count(Self.name(state))
        entries[number]?.state = state
    }

    mutating func want(_ number: Int64, _ sequence: Int64, isDeparture: Bool = false) {
        entries[number] = Entry(sequence: sequence, state: .pending, isDeparture: isDeparture)
        count("wanted")
        count("pending")
    }

    /// Whether the record is wanted; with `asPut`, as if it were not retracted.
    func matches(_ version: ModelVersion, asPut: Bool = false) -> Bool {
        guard let person = version.record.assignment.person else { return false }
        let filter = terms.filter
        if let persons = filter.persons, !persons.contains(person.name), !persons.contains(person.uid) { return false }
        if let types = filter.types, !types.contains(version.record.type) { return false }
        guard let kinds = filter.kinds else { return true }
        return kinds.contains(version.kind) || version.isRetraction && !asPut && kinds.contains(.retraction)
    }

    func mayHold(_ number: Int64) -> Bool { given[number]?.isEmpty == false }

    /// Follows a new version; `false` if the store may or may not retract the record at the target, so that the test
    /// must ask it.
    mutating func commit(_ number: Int64, _ old: ModelVersion?, _ new: ModelVersion) -> Bool {
        let before = entries[number]
        if let old, let before, before.sequence == old.record.sequence, before.state.isOpen {
            replaced.insert([number, before.sequence])
            move(number, to: .superseded)
        }
        if matches(new) {
            want(number, new.record.sequence)
            return true
        }
        guard let old, matches(old, asPut: true) || before?.isDeparture == true && before?.state.isOpen == true else {
            return true
        }
        guard holds[number] == true || mayHold(number) else { return false }
        want(number, new.record.sequence, isDeparture: true)
        return true
    }

    /// Whether the sink should skip an open version; not certain if the store may decide either way.
    func verdict(_ number: Int64, _ version: ModelVersion, _ now: Int64) -> (skip: Bool, isCertain: Bool) {
        let entry = entries[number]
        let isRepeat = delivered[number] == version.record.sequence
        let has = holds[number] == true
        if entry?.isDeparture != true, !matches(version) { return (true, true) }
        if version.isRetraction || entry?.isDeparture == true {
            let cares = entry?.isDeparture == true || terms.filter.kinds?.contains(version.kind) ?? true
            if cares, !isRepeat, !has, !mayHold(number) { return (true, false) }
            return (!terms.abilities.takesDeletions, true)
        }
        if has, !isRepeat, !terms.abilities.takesEdits { return (true, true) }
        switch version.put {
        case .sample(let sample):
            if sample.source.plugin == terms.target.plugin { return (true, true) }
            if case .filled = sample.provenance, !terms.abilities.takesFilledValues { return (true, true) }
            let (day, today) = (sample.start.microseconds + 3_600_000_000, now + 3_600_000_000)
            return (!terms.abilities.takesPastDates && day / 86_400_000_000 < today / 86_400_000_000, true)
        case .day(let day):
            return (!terms.abilities.takesPastDates && day.date.daysSinceEpoch < Int(now / 86_400_000_000), true)
        case .retraction: return (false, true)
        }
    }

    mutating func answer(_ number: Int64, _ sequence: Int64, isRetraction: Bool, _ result: SinkResult) {
        if let entry = entries[number], entry.sequence == sequence, entry.state.isOpen {
            switch result {
            case .delivered:
                move(number, to: .delivered)
                confirm(number, sequence, isRetraction)
            case .retry(let at, _): move(number, to: .retrying(at: at))
            case .unauthorized:
                move(number, to: .unauthorized)
                isPaused = true
            case .refused:
                move(number, to: .refused)
                settled[number] = sequence
            }
            if case .delivered = result {
            } else if let times = given[number]?[sequence] {
                // The result answers one of them.
                given[number]?[sequence] = times > 1 ? times - 1 : nil
            }
            return
        }
        guard case .delivered = result, replaced.remove([number, sequence]) != nil, settled[number] ?? 0 < sequence
        else { return }
        count("superseded", -1)
        count("delivered")
        confirm(number, sequence, isRetraction)
    }

    private mutating func confirm(_ number: Int64, _ sequence: Int64, _ isRetraction: Bool) {
        holds[number] = !isRetraction
        delivered[number] = sequence
        settled[number] = sequence
        given[number] = given[number]?.filter { $0.key > sequence }
    }

    /// The account that the versions imply, without zeros.
    var counts: [String: Int64] { account.filter { $0.value != 0 } }
}

extension SinkDelivery.State {
    var model: SinkModel.State {
        switch self {
        case .pending: .pending
        case .retrying(let at, _): .retrying(at: at)
        case .unauthorized: .unauthorized
        case .delivered: .delivered
        case .refused: .refused
        case .superseded: .superseded
        case .skipped: .skipped
        }
    }
}
