import Foundation

/// A line of the table and of bench.json.
struct Row: Codable {
    let name: String
    /// The hub's figure, or `nil` if it could not be measured; `note` then says why.
    let value: Double?
    let unit: String
    /// The peer's figure, in the same unit.
    var peer: Double?
    /// The median of the ratios of each run and its neighbour in time: steadier than the ratio of medians if others use the machine.
    var ratio: Double?
    /// The promise of the design and the README, such as `≥ 0.7`.
    var promise: String?
    var isMet: Bool?
    var note: String?
    var runs: Int

    private enum CodingKeys: String, CodingKey {
        case name, value, unit, peer, ratio, promise, isMet = "met", note, runs
    }

    /// Writes all members; those without a value are `null`.
    func encode(to encoder: any Encoder) throws {
        var row = encoder.container(keyedBy: CodingKeys.self)
        try row.encode(name, forKey: .name)
        try row.encode(value, forKey: .value)
        try row.encode(unit, forKey: .unit)
        try row.encode(peer, forKey: .peer)
        try row.encode(ratio, forKey: .ratio)
        try row.encode(promise, forKey: .promise)
        try row.encode(isMet, forKey: .isMet)
        try row.encode(note, forKey: .note)
        try row.encode(runs, forKey: .runs)
    }
}

enum Promise {
    case atLeast(Double), below(Double)

    var text: String {
        switch self {
        case .atLeast(let bound): "≥ \(bound)"
        case .below(let bound): "< \(bound)"
        }
    }

    func isMet(_ value: Double) -> Bool {
        switch self {
        case .atLeast(let bound): value >= bound
        case .below(let bound): value < bound
        }
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard let middle = sorted[safe: sorted.count / 2] else { return .nan }
    return sorted.count % 2 == 1 ? middle : (sorted[sorted.count / 2 - 1] + middle) / 2
}

extension Array {
    subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

enum Table {
    static let head =
        "row".padded(28) + "hub".padded(-12) + "peer".padded(-12) + "ratio".padded(-8) + "  " + "promise".padded(10)
        + "unit"

    static func line(_ row: Row) -> String {
        row.name.padded(28) + number(row.value).padded(-12) + number(row.peer).padded(-12)
            + (row.ratio.map { String(format: "%.2f", $0) } ?? "").padded(-8) + "  "
            + ((row.promise ?? "") + (row.isMet.map { $0 ? " ✓" : " ✗" } ?? "")).padded(10) + row.unit
            + (row.note.map { "  (\($0))" } ?? "")
    }

    private static func number(_ value: Double?) -> String {
        guard let value else { return "–" }
        return value >= 1_000 ? String(Int(value)) : String(format: value >= 10 ? "%.1f" : "%.3f", value)
    }
}

extension String {
    /// The text with blanks after it, or before it if the width is negative.
    func padded(_ width: Int) -> String {
        let blanks = String(repeating: " ", count: max(0, abs(width) - count))
        return width < 0 ? blanks + self : self + blanks
    }
}
