import HubSettings
import HubStore
import HubWire
import Samples

/// Who may read what a hub publishes or answers.
enum Readership: Hashable, Sendable {
    /// All who may listen.
    case everyone
    /// The owner alone.
    case owner
    /// The owner, and the instance that said it.
    case instance(String)
    /// All who may read records of this type, person, plugin kind and end; records without a person go to those who may read all
    /// persons'.
    ///
    /// `end` is in microseconds since 1970; `.min` of what does not know it, a retraction, and `.max` of what is happening now.
    case record(type: TypeID, person: String?, plugin: String, end: Int64)
}

/// What an instance may read: the one place that decides it, for the feed, for questions and for deliveries (R7.6, R8.7).
struct ReadGrant: Hashable, Sendable {
    /// The instance it was given to.
    let instance: String
    /// What it asks for, `nil` for all: as much as the instance itself can know of its grant.
    let asked: Set<TypeID>?
    /// Those of it that it may read whatever source they are of.
    let types: TypeSelection
    /// The plugin kind of which it may read all that it asks for.
    let own: String?
    /// Persons by name; `nil` means all, and also what has no person yet.
    let persons: Set<String>?
    /// How far back; `nil`: all there is.
    let history: HistoryLimit?

    init(_ policy: InstancePolicy, of instance: String) {
        (self.instance, types, own, history) = (instance, policy.reads, policy.plugin, policy.history)
        let scope = policy.grants.read
        asked = TypeSelection(names: scope.types, except: []).only
        persons = scope.persons.contains("*") ? nil : Set(scope.persons)
    }

    /// That of an instance which `hub.conf` does not name.
    static func nothing(_ instance: String) -> ReadGrant {
        let none = Grants.Scope(types: [], persons: [])
        let policy = InstancePolicy(grants: Grants(read: none), persons: [], keepsRaw: false, settings: .emptyObject)
        return ReadGrant(policy, of: instance)
    }

    /// - Parameter clock: the hub's, by which some grants reach back.
    func allows(_ readership: Readership, by clock: HubClock) -> Bool {
        switch readership {
        case .everyone: true
        case .owner: false
        case .instance(let instance): instance == self.instance
        case .record(let type, let person, let plugin, let end):
            allows(type: type, person: person, plugin: plugin)
                && history.map { end >= $0.earliest(now: clock.now()) } ?? true
        }
    }

    /// Whether a record of the store may be read; a retraction, which does not know its end, not where the history is limited.
    func allows(_ record: StoredRecord, by clock: HubClock) -> Bool { allows(record.readership, by: clock) }

    /// Whether it may read all there is.
    var isAll: Bool { types.isAll && persons == nil && history == nil }

    /// Whether some topics carry what it may read together with what it may not.
    var sharesTopics: Bool { history != nil || !types.isAll }

    /// Where these are, unless the history is limited: then they are everywhere.
    ///
    /// Most topics are of one type, person and plugin kind; the inbox is of all, and a series of days is named without its plugin kind.
    static let sharedPrefixes = [Topic.inbox.text, "day/", "retraction/"].map { Array($0.utf8) }

    /// Whether the topic of a record of this type may carry others, too, that may not be read.
    func shares(_ topic: Topic, of type: TypeID) -> Bool {
        if history != nil { return true }
        guard Self.sharedPrefixes.contains(where: { topic.text.utf8.starts(with: $0) }) else { return false }
        return topic == .inbox || !types.contains(type)
    }

    /// What of the store's records it may read now; `nil` for all.
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

    /// A filter's persons, by name, without those it may not read; `nil` means all, and also what has no person yet.
    func narrowed(persons asked: Set<String>?) -> Set<String>? {
        guard let asked else { return persons }
        return persons.map(asked.intersection) ?? asked
    }
}

extension TypeSelection {
    /// Ids that the registry does not have may be declared later.
    init(names: [String], except: [String]) {
        func types(_ names: [String]) -> Set<TypeID> { Set(names.compactMap { try? TypeID($0) }) }
        self.init(only: names.contains("*") ? nil : types(names), except: types(except))
    }
}

// MARK: - Subscriptions

extension ReadGrant {
    /// Whether a subscription to `prefix` can ever receive anything, as far as the instance may know: what it asks for may be granted yet.
    ///
    /// The prefix may end anywhere, also within a segment: `sample/wei` is a subscription to every type that begins so. What is delivered is
    /// decided message by message (``allows(_:)``); this only tells a listener that waits in vain.
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

    /// Whether the segment at `index`, as far as it is there, is the wire's spelling of `text`; only the last may be cut.
    private static func matches(_ parts: [ArraySlice<UInt8>], _ index: Int, _ text: String) -> Bool {
        guard index < parts.count else { return true }
        let segment = Topic.segment(text).utf8
        return index == parts.count - 1 ? segment.starts(with: parts[index]) : segment.elementsEqual(parts[index])
    }
}
