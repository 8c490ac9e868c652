import HubStore
import HubWire

/// The batches that wait for the store: in order within a session, and in turns between sessions.
///
/// A session with few waiting records goes before those with many: a scale beside an import of ten years. Each session with many has a
/// turn of ``turn`` records. The number of sessions is small (Protocol §4.2), so a scan of all is cheap.
struct BatchQueue {
    /// The batches of one transaction so far.
    struct Share {
        private(set) var works: [Committer.Work] = []
        fileprivate var records = 0
        fileprivate var hasLittle = false
        fileprivate var hasMuch = false

        init() {}

        fileprivate mutating func add(_ work: Committer.Work) {
            works.append(work)
            records += work.intake.items.count
        }
    }

    private struct Line {
        let session: SessionReference
        var works = FIFO<Committer.Work>()
        var records = 0
        var hasLittle: Bool { records <= BatchQueue.little }
    }

    /// Maximum number of records of one session that count as few: they are stored at once, with no noticeable delay for others.
    static let little = 64
    /// The number of records in one turn; a batch is never cut.
    private static let turn = 500
    /// Maximum records of one transaction: larger ones gain nothing, delay small sessions, and need memory.
    private static let most = 4_000

    /// The sessions with waiting batches.
    private var lines: [Line] = []
    /// The number of sessions with few records.
    private var littles = 0
    /// Where to search next for a session with few records, and the session with many whose turn it is.
    private var (littlePlace, place) = (0, 0)
    /// The number of records left in the turn.
    private var left = turn
    /// Whether the last transaction contained only sessions with few records; then the next one includes the others, so that they never starve.
    private var hasLeftMuchOut = false
    /// The number of waiting records.
    private(set) var records = 0

    var isEmpty: Bool { lines.isEmpty }

    mutating func append(_ work: Committer.Work) {
        let index = lines.firstIndex { $0.session == work.session } ?? lines.endIndex
        if index == lines.endIndex {
            lines.append(Line(session: work.session))
            littles += 1
        }
        let hadLittle = lines[index].hasLittle
        lines[index].works.append(work)
        lines[index].records += work.intake.items.count
        if hadLittle, !lines[index].hasLittle { littles -= 1 }
        records += work.intake.items.count
    }

    /// The next batch for a transaction; `nil` if it should end, so that sessions with few records get their answers.
    mutating func next(for share: inout Share) -> Committer.Work? {
        guard share.records < Self.most else { return nil }
        if let index = nextSmallSender() {
            share.hasLittle = true
            littlePlace = index + 1
            return take(index, for: &share)
        }
        guard !lines.isEmpty, !share.hasLittle || !share.hasMuch && hasLeftMuchOut else {
            hasLeftMuchOut = share.hasLittle && !share.hasMuch
            return nil
        }
        // All remaining sessions have many records.
        share.hasMuch = true
        hasLeftMuchOut = false
        if left <= 0 { (place, left) = (place + 1, Self.turn) }
        if place >= lines.count { place = 0 }
        let session = lines[place].session
        let work = take(place, for: &share)
        left =
            lines.indices.contains(place) && lines[place].session == session
            ? left - (work?.intake.items.count ?? 0) : Self.turn
        return work
    }

    mutating func drop(where isDropped: (SessionReference) -> Bool) {
        for index in lines.indices.reversed() where isDropped(lines[index].session) { remove(index) }
    }

    private func nextSmallSender() -> Int? {
        guard littles > 0 else { return nil }
        let turned = lines.indices.lazy.map { ($0 + littlePlace) % lines.count }
        return turned.first { lines[$0].hasLittle }
    }

    private mutating func take(_ index: Int, for share: inout Share) -> Committer.Work? {
        let hadLittle = lines[index].hasLittle
        guard let work = lines[index].works.popFirst() else { return nil }
        lines[index].records -= work.intake.items.count
        records -= work.intake.items.count
        if !hadLittle, lines[index].hasLittle { littles += 1 }
        if lines[index].works.isEmpty { remove(index) }
        share.add(work)
        return work
    }

    private mutating func remove(_ index: Int) {
        let line = lines.remove(at: index)
        records -= line.records
        if line.hasLittle { littles -= 1 }
        if index < place { place -= 1 }
        if index < littlePlace { littlePlace -= 1 }
    }
}
