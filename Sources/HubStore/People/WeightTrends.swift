import GRDB
import Samples

/// The latest weighings of persons, so that a record costs no look-up.
///
/// A person's are read from the file when they are needed first, and again after one of them was changed, taken back or given to
/// another person: what is known is at any time exactly what the file says.
struct WeightTrends {
    /// By the person's number; oldest first.
    private var known: [Int64: [WeightModel.Weighing]] = [:]

    /// So many of a person's latest weighings count.
    static let length = 32
    /// Beyond it a weighing is ahead of the clock, and says nothing of any other moment.
    private static let ahead: Int64 = 86_400_000_000

    var isEmpty: Bool { known.isEmpty }

    /// The moment by which a weighing is judged: its own, unless its clock is ahead.
    static func moment(of start: Int64, recordedAt: Int64) -> Int64 {
        start <= recordedAt + ahead ? start : recordedAt
    }

    mutating func weighings(of person: Int64, in db: Database) throws -> [WeightModel.Weighing] {
        if let weighings = known[person] { return weighings }
        let sql = """
            SELECT number, start, value, assigned FROM sample INDEXED BY sample_history
            WHERE person = ?1 AND type = (SELECT id FROM term WHERE text = ?2) AND retracted IS NULL
                AND provenance = 0 AND kind = \(SampleKind.quantity.code) AND implausible IS NULL AND start <= recorded_at + \(Self.ahead)
            ORDER BY start DESC, number DESC LIMIT \(Self.length)
            """
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, person)
        statement.bind(2, TypeID.weight.rawValue)
        var weighings: [WeightModel.Weighing] = []
        while try statement.step() {
            weighings.append(
                WeightModel.Weighing(
                    number: statement.integer(0), start: statement.integer(1), kilograms: statement.double(2),
                    isByHand: !statement.isNull(3)))
        }
        weighings.reverse()
        known[person] = weighings
        return weighings
    }

    /// A person has a new weighing.
    mutating func add(_ weighing: WeightModel.Weighing, of person: Int64, recordedAt: Int64) {
        guard weighing.start <= recordedAt + Self.ahead, var weighings = known[person] else { return }
        known[person] = nil  // Changed in place, not copied.
        let place = weighings.lastIndex { ($0.start, $0.number) < (weighing.start, weighing.number) }
        weighings.insert(weighing, at: (place ?? -1) + 1)
        if weighings.count > Self.length { weighings.removeFirst() }
        known[person] = weighings
    }

    /// What is known of a person is to be read again.
    mutating func forget(_ person: Int64) { known[person] = nil }
}
