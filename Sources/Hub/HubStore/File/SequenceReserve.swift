import Glibc
import Platform
import Synchronization

/// The sequence numbers that may have been assigned, stored in a small file beside the store: `<store>.sequences`.
///
/// The limit is flushed to disk before any sequence number above it is confirmed. It grows in steps, so 100,000 numbers cost one small flush. The
/// place of the last commit is written after each commit without a flush. It survives a killed hub, and usually a power failure.
/// The file has three blocks. Flushed changes go to the first, unflushed ones to the other two in turn. If a power failure tears one block,
/// another is still complete.
final class SequenceReserve: Sendable {
    /// How many sequence numbers are reserved at a time.
    ///
    /// A power failure leaves at most this many unused.
    static let step: Int64 = 100_000

    static func path(of store: String) -> String { store + ".sequences" }

    private struct State {
        var record: SequenceRecord
        /// The block for the next unflushed write, 1 or 2.
        var block: Int64 = 1
    }

    private let file: Descriptor
    private let state: Mutex<State>

    /// Takes over the reserve for an opened store and flushes it.
    ///
    /// - Parameters:
    ///   - place: the current place of the store.
    ///   - known: the previous content of the file, whose limit is kept.
    init(of store: String, at place: SequenceRecord.Place, after known: SequenceRecord?) throws(StoreError) {
        var record = known ?? SequenceRecord()
        record.limit = max(record.limit, place.head)
        record.places = [place]
        let path = SequenceReserve.path(of: store)
        file = try StoreError.translated { () throws(FileError) in
            // The write is atomic: after a crash here, the old content remains.
            try PrivateFile.write(record.bytes + record.bytes + record.bytes, to: path)
            return try Descriptor(path, O_RDWR | O_NOFOLLOW)
        }
        state = Mutex(State(record: record))
    }

    /// Returns once sequence numbers up to `head` are reserved on disk.
    ///
    /// Call it before they are committed.
    func admit(_ head: Int64) throws(StoreError) {
        guard state.withLock({ head > $0.record.limit }) else { return }
        try change { $0.limit = head + SequenceReserve.step }
    }

    /// Notes the last commit.
    ///
    /// If the write fails, the file is older than the store, which does no harm.
    func reached(head: Int64, commits: Int64) {
        state.withLock { state in
            state.record.places[0].head = head
            state.record.places[0].commits = commits
            state.record.serial += 1
            try? file.write(state.record.bytes, at: state.block * SequenceRecord.size)
            state.block = 3 - state.block
        }
    }

    /// Records durably that the store is about to change its epoch.
    ///
    /// Both epochs are valid until `begin`.
    func announce(_ epoch: String) throws(StoreError) {
        try change { record in
            var next = record.places[0]
            next.epoch = epoch
            record.places = [record.places[0], next]
        }
    }

    /// Records that the store has the announced epoch.
    func begin(_ epoch: String) throws(StoreError) {
        try change { record in
            record.places = [record.places[0]]
            record.places[0].epoch = epoch
        }
    }

    /// Records durably that the store was closed properly.
    func close() throws(StoreError) {
        try change { $0.places[0].boot = "" }
    }

    private func change(_ body: (inout SequenceRecord) -> Void) throws(StoreError) {
        try StoreError.translated { () throws(FileError) in
            try state.withLock { (state) throws(FileError) in
                var record = state.record
                body(&record)
                record.serial += 1
                try file.write(record.bytes)
                try file.flush()
                state.record = record
            }
        }
    }

    // MARK: - Access without a running hub

    /// The content of the file; `nil` if it is missing or has no complete block.
    static func read(of store: String) throws(StoreError) -> SequenceRecord? {
        let bytes = try StoreError.translated { () throws(FileError) in
            try PrivateFile.read(path(of: store), upTo: 1 << 16) ?? []
        }
        let blocks = stride(from: 0, to: bytes.count, by: Int(SequenceRecord.size)).compactMap { start in
            SequenceRecord(bytes[start..<min(start + Int(SequenceRecord.size), bytes.count)])
        }
        guard var newest = blocks.max(by: { $0.serial < $1.serial }) else { return nil }
        newest.limit = blocks.map(\.limit).max() ?? newest.limit
        return newest
    }

    /// Records durably that another store is about to replace this one.
    ///
    /// Both are valid until one of them is opened.
    static func expect(_ place: SequenceRecord.Place, as store: String) throws(StoreError) {
        var record = try read(of: store) ?? SequenceRecord()
        record.serial += 1
        record.places = record.places.suffix(2) + [place]
        try StoreError.translated { () throws(FileError) in
            try PrivateFile.write(record.bytes + record.bytes + record.bytes, to: path(of: store))
        }
    }
}

/// One block of the file, as text that a person can read.
struct SequenceRecord: Equatable {
    /// The last known state of a store.
    struct Place: Equatable {
        var hub: String
        var epoch: String
        var head: Int64
        /// The number of transactions of the store.
        var commits: Int64
        /// The boot id of the machine while a hub has the store open; empty after it was closed properly.
        var boot: String
    }

    /// Grows with every change.
    ///
    /// The block with the highest serial is the newest.
    var serial: Int64 = 0
    /// No sequence number above this was assigned.
    var limit: Int64 = 0
    /// The place of the store.
    ///
    /// During a replacement it also has the place of the other store.
    var places: [Place] = []

    static let size: Int64 = 4_096
    private static let title = "health-hub sequences 1"

    var bytes: [UInt8] {
        var text = "\(SequenceRecord.title)\nserial \(serial)\nlimit \(limit)\n"
        for place in places {
            let boot = place.boot.isEmpty ? "closed" : place.boot
            text += "place \(place.hub) \(place.epoch) \(place.head) \(place.commits) \(boot)\n"
        }
        text += "sum \(SequenceRecord.sum(text))\n"
        var bytes = Array(text.utf8)
        bytes += [UInt8](repeating: 0, count: Int(SequenceRecord.size) - bytes.count)
        return bytes
    }

    init() {}

    /// Nil if the block is incomplete.
    init?(_ block: ArraySlice<UInt8>) {
        var lines = String(decoding: block.prefix { $0 != 0 }, as: UTF8.self).split(separator: "\n")
        guard lines.count > 1, let last = lines.popLast(), lines[0] == SequenceRecord.title,
            last == "sum " + SequenceRecord.sum(lines.joined(separator: "\n") + "\n")
        else { return nil }
        for line in lines.dropFirst() {
            let words = line.split(separator: " ")
            switch (words.first, words.count) {
            case ("serial", 2): serial = Int64(words[1]) ?? 0
            case ("limit", 2): limit = Int64(words[1]) ?? 0
            case ("place", 6):
                guard let head = Int64(words[3]), let commits = Int64(words[4]) else { return nil }
                places.append(
                    Place(
                        hub: String(words[1]), epoch: String(words[2]), head: head, commits: commits,
                        boot: words[5] == "closed" ? "" : String(words[5])))
            default: return nil
            }
        }
    }

    /// FNV-1a, which detects torn writes.
    private static func sum(_ text: String) -> String {
        String(text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
    }
}
