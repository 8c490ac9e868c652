import GRDB
import Samples

/// A lane, and the offset that is added to its rows' keys for merging.
struct OffsetLane {
    let lane: Lane
    var lead: Int64 = 0

    init(_ lane: Lane, lead: Int64 = 0) { (self.lane, self.lead) = (lane, lead) }

    func shown(_ place: RowPosition) -> RowPosition { RowPosition(key: place.key + lead, number: place.number) }
    func own(_ place: RowPosition) -> RowPosition { RowPosition(key: place.key - lead, number: place.number) }
}

/// Merges rows from several lanes in one order.
///
/// Lanes that can be entered anywhere are opened only as needed. A store may have thousands of lanes, and each open one costs memory.
struct LaneMerge {
    /// Maximum number of such lanes open at a time.
    static let openLanes = 64

    private let termCache: TermCache
    private let db: Database
    private let judge: RowMatcher?
    private var lanes: [(led: OffsetLane, cursor: RowCursor?)] = []
    /// The lanes that can be closed, in the order in which they were opened.
    private var opened: [Int] = []
    /// A heap of the current row of each lane, the next row first.
    private var heads: [(place: RowPosition, lane: Int)] = []
    private let isDown: Bool

    /// - Parameter judge: a condition that rows must meet beyond those of their lane.
    init(
        _ lanes: [Lane], _ order: Lane.Walk, _ judge: RowMatcher?, _ termCache: TermCache, in db: Database
    ) throws {
        try self.init(led: lanes.map { OffsetLane($0) }, order, judge, termCache, in: db)
    }

    /// - Parameter keepsOpen: whether all lanes may stay open, because each has a different form and its own cached statement.
    init(
        led lanes: [OffsetLane], _ order: Lane.Walk, _ judge: RowMatcher?, _ termCache: TermCache,
        keepsOpen: Bool = false,
        in db: Database
    ) throws {
        (self.judge, self.termCache, self.db, isDown) = (judge, termCache, db, order == .newestFirst)
        for led in lanes {
            let cursor = try RowCursor(led.lane, isBrief: led.lane.entry != nil, in: db)
            guard let head = cursor.head else { continue }
            push(led.shown(head), self.lanes.count)
            if led.lane.entry == nil || keepsOpen {
                self.lanes.append((led, cursor))
            } else {
                cursor.close()
                self.lanes.append((led, nil))
            }
        }
    }

    /// Ends the use of cached statements.
    func close() { for lane in lanes { lane.cursor?.close() } }

    /// The place of the next row; `nil` after the last.
    var front: RowPosition? { heads.first?.place }

    /// The next row, or only its place if it does not match.
    mutating func next() throws -> (place: RowPosition, record: StoredRecord?)? {
        let (judge, termCache) = (judge, termCache)
        return try next { cursor in try cursor.isFit(judge) ? try cursor.record(termCache) : nil }.map { ($0, $1) }
    }

    /// The next row, converted by `take`.
    mutating func next<Value>(_ take: (RowCursor) throws -> Value) throws -> (place: RowPosition, value: Value)? {
        guard let (place, index) = heads.first else { return nil }
        let led = lanes[index].led
        let cursor = try cursor(of: index, at: led.own(place))
        let value = try take(cursor)
        try cursor.advance()
        if let head = cursor.head {
            heads[0].place = led.shown(head)
        } else {
            lanes[index].cursor = nil
            opened.removeAll { $0 == index }
            heads[0] = heads[heads.count - 1]
            heads.removeLast()
        }
        sink()
        return (place, value)
    }

    private mutating func cursor(of index: Int, at place: RowPosition) throws -> RowCursor {
        if let cursor = lanes[index].cursor { return cursor }
        if opened.count == LaneMerge.openLanes { lanes[opened.removeFirst()].cursor = nil }
        opened.append(index)
        let cursor = try RowCursor(lanes[index].led.lane, from: place, in: db)
        lanes[index].cursor = cursor
        return cursor
    }

    // MARK: - The heap

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (heads[left].place, heads[right].place)
        return isDown ? left > right : left < right
    }

    private mutating func push(_ place: RowPosition, _ lane: Int) {
        heads.append((place, lane))
        var child = heads.count - 1
        while child > 0, precedes(child, (child - 1) / 2) {
            heads.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Moves the first entry down to its place.
    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heads.count && precedes(child, least) {
                least = child
            }
            if least == parent { return }
            heads.swapAt(parent, least)
            parent = least
        }
    }
}
