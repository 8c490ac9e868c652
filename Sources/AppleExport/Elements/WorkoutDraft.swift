import JSON
import Samples

/// What a workout has in it, as it is read.
struct WorkoutDraft {
    /// A number that is of a workout as a whole, or of one of its activities.
    struct Totals {
        private var json: [UInt8] = []
        private var known: Set<String> = []
        private(set) var count = 0
        /// The types of the sums.
        private(set) var sums: Set<TypeID> = []

        /// - Returns: false where the hub would not take it.
        mutating func add(
            _ type: TypeEntry, _ statistic: String, _ value: DecimalText.Number, _ unit: UnitEntry
        ) -> Bool {
            guard count < 200, type.kind == .quantity, unit.isFit else { return false }
            if let health = type.health {
                guard (statistic == "sum") == (health.aggregation == .cumulative) else { return false }
                guard health.limits?.possible.contains(unit.canonical(value.value)) ?? true else { return false }
            }
            guard known.insert("\(type.id) \(statistic)").inserted else { return true }
            if statistic == "sum" { sums.insert(type.id) }
            count += 1
            json.append(literal: json.isEmpty ? #"{"type":"# : #",{"type":"#)
            json.append(quoted: type.id.rawValue)
            json.append(literal: #","statistic":"#)
            json.append(quoted: statistic)
            json.append(literal: #","value":"#)
            NumberWriter.append(value.value, to: &json)
            json += unit.json
            json.append(0x7D)
            return true
        }

        func append(to output: inout [UInt8]) {
            guard count > 0 else { return }
            output.append(literal: output.last == 0x7B ? #""totals":["# : #","totals":["#)
            output += json
            output.append(0x5D)
        }
    }

    var totals = Totals()
    var events: [[UInt8]] = []
    var activities: [[UInt8]] = []
    var zones: [[UInt8]] = []
    var routes: [RouteDraft] = []
    var members: [MadeRecord] = []
}

/// A route of a workout: files, or points that stand in the XML.
struct RouteDraft {
    var draft: Draft
    var files: [String] = []
    var points: [RoutePointText] = []
}

/// A point of a route as JSON, and when it was.
struct RoutePointText {
    var microseconds: Int64
    var json: [UInt8]
}
