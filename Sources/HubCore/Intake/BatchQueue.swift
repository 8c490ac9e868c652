import HubSessions
import HubStore

/// The batches that wait for the store: in order within a session, and in turns between sessions.
///
/// A session of which little waits goes before those of which much waits: a scale beside an import of ten years. Of those with much each
/// has its turn for ``turn`` records. The sessions are few (Protocol §4.2), so that looking at each of them is cheap.
struct BatchQueue {
    /// What one transaction has taken so far.
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

    /// So many records of one session are little: they are stored at once, and that costs the others no time that they notice.
    static let little = 64
    /// The records of one turn; a batch is never cut.
    private static let turn = 500
    /// The most records of one transaction: larger ones gain nothing, a scale would wait for their end, and what they hold in memory counts.
    private static let most = 4_000

    /// Of the sessions for which something waits.
    private var lines: [Line] = []
    /// How many of them have little.
    private var littles = 0
    /// Where to look next for a session with little, and whose turn it is of those with much.
    private var (littlePlace, place) = (0, 0)
    /// How many records are left of the turn.
    private var left = turn
    /// Whether the last transaction was for sessions with little alone: the next is not, or those with much would wait for ever.
    private var hasLeftMuchOut = false
    /// Records that wait.
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

    /// The next batch for a transaction; `nil` where it is to end, so that those who wait for little get their answer.
    mutating func next(for share: inout Share) -> Committer.Work? {
        guard share.records < Self.most else { return nil }
        if let index = nextWithLittle() {
            share.hasLittle = true
            littlePlace = index + 1
            return take(index, for: &share)
        }
        guard !lines.isEmpty, !share.hasLittle || !share.hasMuch && hasLeftMuchOut else {
            hasLeftMuchOut = share.hasLittle && !share.hasMuch
            return nil
        }
        // All that are left have much.
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

    private func nextWithLittle() -> Int? {
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
