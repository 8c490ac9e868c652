import JSON
public import Samples

/// GPX 1.1: one track per workout route, named after the workout's activity and start time.
///
/// Expects items from ``RouteJoin``: each route with all of its records.
public struct GPXExport: ExportWriter {
    public private(set) var account = ExportSummary()
    /// Names for tracks: the workouts of the most recent groups.
    private var workouts: [String: String] = [:]
    private var order: [String] = []
    private static let remembered = 1_000

    /// The types to query.
    ///
    /// Workouts are needed for the names of their routes.
    public static let types: [TypeID] = [.workout, .workoutRoute]

    public init() {}

    public mutating func begin(_ output: inout [UInt8]) {
        output.append(
            literal: """
                <?xml version="1.0" encoding="UTF-8"?>
                <gpx version="1.1" creator="health-hub" xmlns="http://www.topografix.com/GPX/1/1">

                """)
    }

    public mutating func write(_ item: ExportItem, to output: inout [UInt8]) {
        guard case .sample(let sample) = item.record.record else { return account.leaveOut("only routes have a place") }
        if case .workout(let activity, _) = sample.value {
            if let group = GPXExport.group(sample) { remember(group, "\(activity) \(sample.start.text)") }
            return
        }
        let parts = (item.members.isEmpty ? [item.record] : item.members).compactMap { stored -> [RoutePoint]? in
            guard case .sample(let part) = stored.record else { return nil }
            return part.route
        }
        let points = parts.filter { !$0.isEmpty }.sorted { $0[0].time.microseconds < $1[0].time.microseconds }
        guard !points.isEmpty else { return account.leaveOut("\(sample.type): a route without points") }
        begin(
            track: GPXExport.group(sample).flatMap { workouts[$0] } ?? "route \(sample.start.text)", item, sample,
            &output)
        for point in points.joined() { append(point, &output) }
        output.append(literal: "    </trkseg>\n  </trk>\n")
        account.written += Int64(points.count)
    }

    public mutating func end(_ output: inout [UInt8]) { output.append(literal: "</gpx>\n") }

    /// The key of a sample's group.
    ///
    /// Group names are unique within one source only.
    private static func group(_ sample: Sample) -> String? {
        sample.group.map { "\(sample.source.plugin)\u{0}\($0)" }
    }

    private mutating func remember(_ group: String, _ name: String) {
        if workouts.updateValue(name, forKey: group) == nil { order.append(group) }
        if order.count > GPXExport.remembered { workouts[order.removeFirst()] = nil }
    }

    private func begin(track name: String, _ item: ExportItem, _ sample: Sample, _ output: inout [UInt8]) {
        output.append(literal: "  <trk>\n    <name>")
        output.append(xml: name)
        output.append(literal: "</name>\n")
        if let person = item.record.assignment.person {
            output.append(literal: "    <desc>")
            output.append(xml: person.name)
            output.append(literal: "</desc>\n")
        }
        output.append(literal: "    <src>")
        output.append(xml: sample.source.names)
        output.append(literal: "</src>\n    <trkseg>\n")
    }

    private func append(_ point: RoutePoint, _ output: inout [UInt8]) {
        output.append(literal: "      <trkpt")
        output.append(attribute: "lat", GPXExport.decimal(point.latitude))
        output.append(attribute: "lon", GPXExport.decimal(point.longitude))
        output.append(UInt8(ascii: ">"))
        if let altitude = point.altitude { element("ele", altitude, &output) }
        output.append(literal: "<time>")
        // GPX allows only UTC times.
        output.append(xml: Timestamp(microseconds: point.time.microseconds).text)
        output.append(literal: "</time>")
        let further: [(StaticString, Double?)] = [
            ("speed", point.speed), ("course", point.course), ("hAcc", point.horizontalAccuracy),
            ("vAcc", point.verticalAccuracy),
        ]
        if further.contains(where: { $0.1 != nil }) {
            output.append(literal: "<extensions>")
            for (name, value) in further { if let value { element(name, value, &output) } }
            output.append(literal: "</extensions>")
        }
        output.append(literal: "</trkpt>\n")
    }

    private func element(_ name: StaticString, _ value: Double, _ output: inout [UInt8]) {
        output.append(UInt8(ascii: "<"))
        output.append(literal: name)
        output.append(UInt8(ascii: ">"))
        output.append(xml: GPXExport.decimal(value))
        output.append(literal: "</")
        output.append(literal: name)
        output.append(UInt8(ascii: ">"))
    }

    /// A number without an exponent, as `xsd:decimal` requires: moves the decimal point instead.
    static func decimal(_ value: Double) -> String {
        let text = NumberWriter.text(value)
        guard let mark = text.firstIndex(of: "e"),
            let exponent = Int(text[text.index(after: mark)...].drop { $0 == "+" })
        else { return text }
        let isNegative = text.hasPrefix("-")
        let mantissa = text[..<mark].drop { $0 == "-" }
        let parts = mantissa.split(separator: ".")
        let digits = parts.joined()
        let point = (parts.first?.count ?? 0) + exponent
        let sign = isNegative ? "-" : ""
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
        return sign + digits + String(repeating: "0", count: max(0, point - digits.count))
    }
}
