import HubSettings
import HubStore
import HubWire
import Samples

/// The readers of a message or record that a hub publishes or returns.
enum AllowedReaders: Hashable, Sendable {
    /// All peers that may listen.
    case everyone
    /// The owner alone.
    case owner
    /// The owner, and the instance that it concerns.
    case instance(String)
    /// All readers with grants for records of this type, person, plugin kind and end; a record without a person needs a grant for all persons.
    ///
    /// `end` is in microseconds since 1970; `.min` for a retraction, which does not know its end, and `.max` for a live value.
    case record(type: TypeID, person: String?, plugin: String, end: Int64)
}

/// The reading rights of an instance: the only place that decides them, for the feed, for questions and for deliveries (R7.6, R8.7).
struct ReadGrant: Hashable, Sendable {
    /// The instance that holds the grant.
    let instance: String
    /// The types that it asks for, `nil` for all; the instance itself knows no more of its grant.
    let asked: Set<TypeID>?
    /// The types among these that it may read from every source.
    let types: TypeSelection
    /// The plugin kind of which it may read all types that it asks for.
    let own: String?
    /// Persons by name; `nil` means all, and also records without a person.
    let persons: Set<String>?
    /// How far back it may read; `nil` for no limit.
    let history: HistoryLimit?

    init(_ policy: InstancePolicy, of instance: String) {
        (self.instance, types, own, history) = (instance, policy.reads, policy.plugin, policy.history)
        let scope = policy.grants.read
        asked = TypeSelection(names: scope.types, except: []).only
        persons = scope.persons.contains("*") ? nil : Set(scope.persons)
    }

    /// The grant of an instance that `hub.conf` does not name.
    static func nothing(_ instance: String) -> ReadGrant {
        let none = Grants.Scope(types: [], persons: [])
        let policy = InstancePolicy(grants: Grants(read: none), persons: [], keepsRaw: false, settings: .emptyObject)
        return ReadGrant(policy, of: instance)
    }

    /// - Parameter clock: the hub's clock, which the limit of the history refers to.
    func allows(_ readership: AllowedReaders, by clock: HubClock) -> Bool {
        switch readership {
        case .everyone: true
        case .owner: false
        case .instance(let instance): instance == self.instance
        case .record(let type, let person, let plugin, let end):
            allows(type: type, person: person, plugin: plugin)
                && history.map { end >= $0.earliest(now: clock.now()) } ?? true
        }
    }

    /// Whether a record of the store may be read; a retraction does not know its end, so a limited history excludes it.
    func allows(_ record: StoredRecord, by clock: HubClock) -> Bool { allows(record.readership, by: clock) }

    /// Whether it may read everything.
    var isAll: Bool { types.isAll && persons == nil && history == nil }

    /// Whether some topics carry both records that it may read and records that it may not.
    var sharesTopics: Bool { history != nil || !types.isAll }

    /// The beginnings of these topics; with a limited history, all topics are shared.
    ///
    /// Most topics have one type, person and plugin kind; the inbox has all of them, and the topic of a series of days has no plugin kind.
    static let sharedPrefixes = [Topic.inbox.text, "day/", "retraction/"].map { Array($0.utf8) }

    /// Whether the topic of a record of this type may also carry records that may not be read.
    func shares(_ topic: Topic, of type: TypeID) -> Bool {
        if history != nil { return true }
        guard Self.sharedPrefixes.contains(where: { topic.text.utf8.starts(with: $0) }) else { return false }
        return topic == .inbox || !types.contains(type)
    }

    /// The records of the store that it may read now; `nil` for all.
    func allowance(by clock: HubClock) -> ReadAllowance? {
        let since = history?.earliest(now: clock.now())
        return types.isAll && since == nil ? nil : ReadAllowance(types: types, own: own, since: since)
    }

    /// - Parameter person: by name; `nil` for a record without a person.
    private func allows(type: TypeID, person: String?, plugin: String) -> Bool {
        guard types.contains(type) || plugin == own && asked?.contains(type) ?? true else { return false }
        guard let persons else { return true }
        return person.map(persons.contains) ?? false
    }

    /// A filter's types without those that the instance does not ask for; `nil` means all.
    func narrowed(types filtered: Set<TypeID>?) -> Set<TypeID>? {
        guard let filtered else { return asked }
        return asked.map(filtered.intersection) ?? filtered
    }

    /// A filter's persons, by name, without those that it may not read; `nil` means all, and also records without a person.
    func narrowed(persons asked: Set<String>?) -> Set<String>? {
        guard let asked else { return persons }
        return persons.map(asked.intersection) ?? asked
    }
}

extension TypeSelection {
    /// Ids that are not in the registry are kept, because they may be declared later.
    init(names: [String], except: [String]) {
        func types(_ names: [String]) -> Set<TypeID> { Set(names.compactMap { try? TypeID($0) }) }
        self.init(only: names.contains("*") ? nil : types(names), except: types(except))
    }
}

// MARK: - Subscriptions

extension ReadGrant {
    /// Whether a subscription to `prefix` can ever receive anything, as far as the instance may know: types that it asks for may be granted later.
    ///
    /// The prefix may end anywhere, even within a segment: `sample/wei` subscribes to every type that begins with it.
    /// ``allows(_:by:)`` decides about each message; this only detects a listener that waits in vain.
    func canMatch(prefix: some Sequence<UInt8>) -> Bool {
        let parts = Array(prefix).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let kind = parts.first else { return true }
        if parts.count == 1 {
            return Self.kinds.contains { $0.utf8.starts(with: kind) && canMatch(prefix: ($0 + "/").utf8) }
        }
        switch String(decoding: kind, as: UTF8.self) {
        case "hub":
            let hearsOfNobody = persons == nil && asked?.isEmpty != true
            return ["pulse", "notice"].contains { Self.matches(parts, 1, $0) }
                || hearsOfNobody && Self.matches(parts, 1, "inbox")
        case "device": return true
        case "sample", "day", "retraction", "live":
            return asked.map { $0.contains { Self.matches(parts, 1, $0.rawValue) } } ?? true
                && persons.map { $0.contains { Self.matches(parts, 2, $0) } } ?? true
        default: return false
        }
    }

    private static let kinds = ["sample", "day", "retraction", "live", "device", "hub"]

    /// Whether the segment at `index`, as far as it is present, is the wire's spelling of `text`; only the last segment may be cut.
    private static func matches(_ parts: [ArraySlice<UInt8>], _ index: Int, _ text: String) -> Bool {
        guard index < parts.count else { return true }
        let segment = Topic.segment(text).utf8
        return index == parts.count - 1 ? segment.starts(with: parts[index]) : segment.elementsEqual(parts[index])
    }
}
