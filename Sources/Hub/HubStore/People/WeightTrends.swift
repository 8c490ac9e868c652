import GRDB
import Samples

/// The latest weighings of persons, cached so that a record needs no look-up.
///
/// A person's weighings are read from the file on first use, and again after one of them was changed, retracted or assigned to another person. The
/// cache therefore always matches the file.
struct WeightTrends {
    /// By the person's number; oldest first.
    private var known: [Int64: [WeightModel.Weighing]] = [:]

    /// The number of latest weighings of a person that count.
    static let length = 32
    /// A weighing further in the future has a wrong clock and is not used for other moments.
    private static let ahead: Int64 = 86_400_000_000

    var isEmpty: Bool { known.isEmpty }

    /// The moment for judging a weighing: its own, unless its clock is ahead.
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

    /// Adds a new weighing of a person.
    mutating func add(_ weighing: WeightModel.Weighing, of person: Int64, recordedAt: Int64) {
        guard weighing.start <= recordedAt + Self.ahead, var weighings = known[person] else { return }
        known[person] = nil  // Avoids a copy.
        let place = weighings.lastIndex { ($0.start, $0.number) < (weighing.start, weighing.number) }
        weighings.insert(weighing, at: (place ?? -1) + 1)
        if weighings.count > Self.length { weighings.removeFirst() }
        known[person] = weighings
    }

    /// Discards the cached weighings of a person.
    mutating func forget(_ person: Int64) { known[person] = nil }
}
