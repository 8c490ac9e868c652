import JSON
import Samples

/// The contents of a workout read so far.
struct WorkoutDraft {
    /// The totals of a workout or of one of its activities.
    struct Totals {
        private var json: [UInt8] = []
        /// The first value of each type and statistic.
        private var known: [String: String] = [:]
        private(set) var count = 0
        /// The types of the totals that are sums.
        private(set) var sums: Set<TypeID> = []

        /// - Returns: false if the hub would reject the total, or if there is already another value.
        mutating func add(
            _ type: TypeEntry, _ statistic: String, _ value: DecimalText.Number, _ unit: UnitEntry
        ) -> Bool {
            guard count < 200, type.kind == .quantity, unit.isFit else { return false }
            if let health = type.health {
                guard (statistic == "sum") == (health.aggregation == .cumulative) else { return false }
                guard health.limits?.possible.contains(unit.canonical(value.value)) ?? true else { return false }
            }
            let (name, said) = ("\(type.id) \(statistic)", "\(value.value) \(unit.text)")
            if let before = known[name] { return before == said }
            known[name] = said
            if statistic == "sum" { sums.insert(type.id) }
            count += 1
            json.append(literal: json.isEmpty ? #"{"type":"# : #",{"type":"#)
            json.append(quoted: type.id.rawValue)
            json.append(#","statistic":"#, quoted: statistic)
            json.append(literal: #","value":"#)
            NumberWriter.append(value.value, to: &json)
            json += unit.json
            json.append(0x7D)
            return true
        }

        func append(to output: inout [UInt8]) {
            guard count > 0 else { return }
            output.begin("totals")
            output.append(0x5B)
            output += json
            output.append(0x5D)
        }
    }

    /// The parts of one kind, as JSON, up to a limit of memory.
    struct Parts {
        private(set) var all: [[UInt8]] = []
        private var size = 0

        /// - Returns: false if there is no room.
        mutating func append(_ json: [UInt8]) -> Bool {
            guard all.count < 10_000, size + json.count < ExportReader.partsBound else { return false }
            size += json.count
            all.append(json)
            return true
        }
    }

    var totals = Totals()
    var events = Parts()
    var activities = Parts()
    var zones = Parts()
    var routes = Routes()
    var members: [FinishedRecord] = []
    var memberBytes = 0
}

/// A route of a workout: files, or points in the XML.
struct RouteDraft {
    var draft: ElementDraft
    var files: [String] = []
    var points: [RoutePointText] = []
}

/// The routes of a workout, held until its end, up to a limit of memory.
struct Routes {
    var all: [RouteDraft] = []
    private var (files, points, bytes) = (0, 0, 0)

    /// - Returns: false if there is no room.
    mutating func take(file name: String) -> Bool {
        guard files < 1_000, name.utf8.count <= 4_096 else { return false }
        files += 1
        return true
    }

    /// - Returns: false if there is no room.
    mutating func take(_ point: RoutePointText) -> Bool {
        guard points < 100_000, bytes + point.json.count < 2 * ExportReader.partsBound else { return false }
        (points, bytes) = (points + 1, bytes + point.json.count)
        return true
    }
}

/// A point of a route as JSON, with its time.
struct RoutePointText {
    var microseconds: Int64
    var json: [UInt8]
}
