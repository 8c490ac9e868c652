import GRDB
import Samples
import Synchronization

/// A cache of the values of the small integers in records.
///
/// A row of these tables never changes its meaning.
///
/// The readers share one cache. The writer has its own, because it also sees rows that a failed commit rolls back.
final class TermCache: Sendable {
    private struct Entries {
        var terms: [Int64: String] = [:]
        var types: [Int64: TypeID] = [:]
        var origins: [Int64: [OriginStep]] = [:]
        var metadata: [Int64: JSONObject] = [:]
        var sources: [Int64: Source] = [:]
        var persons: [Int64: Person] = [:]

        /// Limits the cache, because sources may invent any number of words.
        mutating func bound() {
            if terms.count > TermCache.capacity { terms.removeAll(keepingCapacity: true) }
            if origins.count > TermCache.capacity { origins.removeAll(keepingCapacity: true) }
            if sources.count > TermCache.capacity { sources.removeAll(keepingCapacity: true) }
        }
    }

    static let capacity = 20_000
    /// Longer texts, in bytes, are not cached.
    static let longestText = 256

    /// Longer metadata, in bytes, is stored in the row of each record.
    static let longestMetadata = 1_024
    private static let metadataCapacity = 1_000

    private let entries = Mutex(Entries())

    /// Empties the cache, because a row may have lost its text.
    func forget() { entries.withLock { $0 = Entries() } }

    func term(_ id: Int64, in db: Database) throws -> String {
        if let known = entries.withLock({ $0.terms[id] }) { return known }
        let statement = try RawStatement(cached: "SELECT text FROM term WHERE id = ?", in: db)
        defer { statement.clear() }
        statement.bind(1, id)
        guard try statement.step(), let text = statement.text(0) else { throw TermCache.missing("term", id) }
        guard text.utf8.count <= TermCache.longestText else { return text }
        entries.withLock {
            $0.bound()
            $0.terms[id] = text
        }
        return text
    }

    func type(_ id: Int64, in db: Database) throws -> TypeID {
        if let known = entries.withLock({ $0.types[id] }) { return known }
        let text = try term(id, in: db)
        guard let type = try? TypeID(text) else {
            throw StoreError(.corrupt, "read a record: its type is not the name of a type; restore a backup")
        }
        entries.withLock {
            if $0.types.count > TermCache.capacity { $0.types.removeAll(keepingCapacity: true) }
            $0.types[id] = type
        }
        return type
    }

    func metadata(_ id: Int64, in db: Database) throws -> JSONObject {
        if let known = entries.withLock({ $0.metadata[id] }) { return known }
        let metadata = JSONObject(trusted: try term(id, in: db))
        entries.withLock {
            if $0.metadata.count > TermCache.metadataCapacity { $0.metadata.removeAll(keepingCapacity: true) }
            $0.metadata[id] = metadata
        }
        return metadata
    }

    func origin(_ id: Int64, in db: Database) throws -> [OriginStep] {
        if let known = entries.withLock({ $0.origins[id] }) { return known }
        let text = try term(id, in: db)
        guard let origin = LineListCoding.origin(text) else {
            throw StoreError(.corrupt, "read a record: its origin is malformed; restore a backup")
        }
        guard text.utf8.count <= TermCache.longestText else { return origin }
        entries.withLock { $0.origins[id] = origin }
        return origin
    }

    func source(_ id: Int64, in db: Database) throws -> Source {
        if let known = entries.withLock({ $0.sources[id] }) { return known }
        let statement = try RawStatement(cached: "SELECT plugin, device, account FROM source WHERE id = ?", in: db)
        defer { statement.clear() }
        statement.bind(1, id)
        guard try statement.step(), let plugin = statement.text(0) else { throw TermCache.missing("source", id) }
        let source = Source(plugin: plugin, device: statement.text(1), account: statement.text(2))
        guard source.bytes <= TermCache.longestText else { return source }
        entries.withLock {
            $0.bound()
            $0.sources[id] = source
        }
        return source
    }

    func person(_ id: Int64, in db: Database) throws -> Person {
        if let known = entries.withLock({ $0.persons[id] }) { return known }
        let statement = try RawStatement(cached: "SELECT uid, name FROM person WHERE id = ?", in: db)
        defer { statement.clear() }
        statement.bind(1, id)
        guard try statement.step(), let uid = statement.text(0), let name = statement.text(1) else {
            throw TermCache.missing("person", id)
        }
        let person = Person(uid: uid, name: name)
        entries.withLock { $0.persons[id] = person }
        return person
    }

    private static func missing(_ table: String, _ id: Int64) -> StoreError {
        StoreError(.corrupt, "read a record: \(table) \(id) is missing; restore a backup")
    }
}

extension Source {
    /// The total length of its names.
    var bytes: Int { plugin.utf8.count + (device?.utf8.count ?? 0) + (account?.utf8.count ?? 0) }
}

/// The metadata texts of the latest records, each with its id once it is known to repeat.
///
/// Comparing these few texts costs less than hashing one: a watch sends one text, or one for each of a few contexts.
struct RecentMetadata {
    private var entries: [(text: String, id: Int64?)] = []
    private var last = 0
    /// The index of the entry that the next new text replaces.
    private var next = 0

    private static let capacity = 16

    /// The index of a text; `nil` if it is new, and then it is added.
    mutating func place(of text: String) -> Int? {
        if entries.indices.contains(last), entries[last].text.hasSameBytes(as: text) { return last }
        if let place = entries.firstIndex(where: { $0.text.hasSameBytes(as: text) }) {
            last = place
            return place
        }
        if entries.count < Self.capacity {
            entries.append((text, nil))
        } else {
            entries[next] = (text, nil)
            next = (next + 1) % Self.capacity
        }
        return nil
    }

    subscript(place: Int) -> Int64? {
        get { entries[place].id }
        set { entries[place].id = newValue }
    }
}

/// A text that is compared byte by byte.
///
/// `String` treats different Unicode normal forms of a text as equal, so a look-up could return the wrong form.
struct ExactText: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: ExactText, right: ExactText) -> Bool { left.text.hasSameBytes(as: right.text) }

    func hash(into hasher: inout Hasher) {
        var copy = text
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
