import Files
import Glibc
import Synchronization

/// Which sequences may have been given out, kept in a small file of its own beside the store: `<store>.sequences`.
///
/// A limit is on the disk before any sequence above it is confirmed, in steps, so that it costs one small flush in 100,000 sequences. The
/// place that the last commit reached is written after each commit and not flushed: that survives a killed hub, and mostly a power cut.
/// The file has three blocks. What has to be on the disk goes to the first, what need not to the other two in turn, so that a block that
/// a power cut tears leaves another that is whole.
final class SequenceReserve: Sendable {
    /// So many sequences are reserved at a time: the most that a power cut can leave unused.
    static let step: Int64 = 100_000

    static func path(of store: String) -> String { store + ".sequences" }

    private struct State {
        var record: SequenceRecord
        /// The block for the next place, 1 or 2.
        var block: Int64 = 1
    }

    private let file: Descriptor
    private let state: Mutex<State>

    /// Takes over the reserve for a store that begins here, durably.
    ///
    /// - Parameters:
    ///   - place: of the store as it is now.
    ///   - known: what the file said before, whose limit goes on.
    init(of store: String, at place: SequenceRecord.Place, after known: SequenceRecord?) throws(StoreError) {
        var record = known ?? SequenceRecord()
        record.limit = max(record.limit, place.head)
        record.places = [place]
        let path = SequenceReserve.path(of: store)
        file = try StoreError.translated { () throws(FileError) in
            // Whole or not at all: a crash here leaves what was known before.
            try PrivateFile.write(record.bytes + record.bytes + record.bytes, to: path)
            return try Descriptor(path, O_RDWR | O_NOFOLLOW)
        }
        state = Mutex(State(record: record))
    }

    /// Returns when sequences up to `head` are reserved on the disk; to be called before they are committed.
    func admit(_ head: Int64) throws(StoreError) {
        guard state.withLock({ head > $0.record.limit }) else { return }
        try change { $0.limit = head + SequenceReserve.step }
    }

    /// Notes what has been committed; a failure makes the file older than the store, which says nothing against the store.
    func reached(head: Int64, commits: Int64) {
        state.withLock { state in
            state.record.places[0].head = head
            state.record.places[0].commits = commits
            state.record.serial += 1
            try? file.write(state.record.bytes, at: state.block * SequenceRecord.size)
            state.block = 3 - state.block
        }
    }

    /// Says, durably, that the store is about to have another epoch: both are right until `begin`.
    func announce(_ epoch: String) throws(StoreError) {
        try change { record in
            var next = record.places[0]
            next.epoch = epoch
            record.places = [record.places[0], next]
        }
    }

    /// The store has the epoch that was announced.
    func begin(_ epoch: String) throws(StoreError) {
        try change { record in
            record.places = [record.places[0]]
            record.places[0].epoch = epoch
        }
    }

    /// Notes, durably, that the store was closed in order.
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

    // MARK: - Without the hub

    /// What the file says; `nil` where there is none, or nothing in it is whole.
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

    /// Says, durably, that another store is about to take the place of this one; both are right until one of them is opened.
    static func expect(_ place: SequenceRecord.Place, as store: String) throws(StoreError) {
        var record = try read(of: store) ?? SequenceRecord()
        record.serial += 1
        record.places = record.places.suffix(2) + [place]
        try StoreError.translated { () throws(FileError) in
            try PrivateFile.write(record.bytes + record.bytes + record.bytes, to: path(of: store))
        }
    }
}

/// One block of the file: text, so that a person can read it.
struct SequenceRecord: Equatable {
    /// Where a store was when it was last heard of.
    struct Place: Equatable {
        var hub: String
        var epoch: String
        var head: Int64
        /// How many transactions the store has had.
        var commits: Int64
        /// The machine's start during which a hub has had it open; empty once it was closed in order.
        var boot: String
    }

    /// Grows with every change: the block with the highest is the newest.
    var serial: Int64 = 0
    /// No sequence above this was given out.
    var limit: Int64 = 0
    /// The store; while another takes its place, that one too.
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

    /// Nil where the block is not whole.
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

    /// FNV-1a: finds what a torn write leaves.
    private static func sum(_ text: String) -> String {
        String(text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
    }
}
