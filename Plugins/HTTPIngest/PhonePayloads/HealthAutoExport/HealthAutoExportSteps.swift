import JSON
import Samples

/// Reads a body of Health Auto Export part by part.
struct HealthAutoExportSteps: PayloadSteps {
    /// A part of the body that is read separately.
    enum Part {
        case metric(Int, JSONValue)
        case entry(Entry, Int, JSONValue)
        case unknown(String, JSONValue)
    }

    /// The arrays beside the metrics.
    enum Entry: String, CaseIterable {
        case workouts, stateOfMind, symptoms, cycleTracking, ecg, heartRateNotifications, medications
    }

    let bytes: UnsafeRawBufferPointer
    let context: PhoneContext
    private var parts: [Part] = []
    private var position = 0
    private var metric: (any PayloadSteps)?

    /// - Throws: ``PhoneError`` if the body is not an object with `data`.
    init(_ root: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext) throws(PhoneError) {
        (self.bytes, self.context) = (bytes, context)
        guard root.kind == .object else { throw PhoneError(.form, "the body is an object with data") }
        let members = Members(root, in: bytes)
        try Self.checkOnce(members, "the body")
        guard let data = members["data"], data.kind == .object else { throw PhoneError(.form, "data is an object") }
        let arrays = Members(data, in: bytes)
        try Self.checkOnce(arrays, "data")
        for member in arrays.all {
            let name = JSONText.string(member.name, in: bytes) ?? ""
            try add(name, member.value)
        }
        // One version of the app wrote workouts beside data.
        if let stray = members["workouts"], arrays["workouts"] == nil { try add("workouts", stray) }
    }

    private static func checkOnce(_ members: Members, _ place: String) throws(PhoneError) {
        guard let name = members.repeatedName else { return }
        throw PhoneError(.json, "\(place) has the member \(name.prefix(64)) twice")
    }

    private mutating func add(_ name: String, _ value: JSONValue) throws(PhoneError) {
        if value.kind == .null { return }
        guard name == "metrics" || Entry(rawValue: name) != nil else {
            parts.append(.unknown(name, value))
            return
        }
        guard value.kind == .array else { throw PhoneError(.form, "data.\(name) is an array") }
        var cursor = ArrayCursor(value, in: bytes)
        while let element = cursor.next() {
            if let entry = Entry(rawValue: name) {
                parts.append(.entry(entry, cursor.count - 1, element))
            } else {
                parts.append(.metric(cursor.count - 1, element))
            }
        }
    }

    mutating func next() -> PhoneBatch? {
        var batch = PhoneBatch()
        var hasRead = false
        while batch.size < PhoneBody.batchRecords {
            if var steps = metric {
                let piece = steps.next()
                metric = piece == nil ? nil : steps
                if let piece {
                    if batch.size == 0, !hasRead { return piece }
                    batch.add(piece)
                    hasRead = true
                }
                continue
            }
            guard position < parts.count else { break }
            defer { position += 1 }
            hasRead = true
            switch parts[position] {
            case .metric(let index, let value):
                do throws(ItemError) {
                    metric = try MetricSteps.make(value, index, bytes, context, &batch)
                } catch {
                    batch.received += 1
                    batch.reject("/data/metrics/\(index)", error)
                }
            case .entry(let entry, let index, let value):
                batch.received += 1
                EntryReader(bytes, context, "/data/\(entry.rawValue)/\(index)").read(entry, value, &batch)
            case .unknown(let name, let value):
                let keeper = UnknownElementStore(bytes, context, account: "hae", type: "x.hae.unread")
                keeper.keep(name, value, at: "/data/\(name.pointerText)", "array not known", &batch)
            }
        }
        return hasRead ? batch : nil
    }
}

extension String {
    /// The text as a part of a JSON pointer (RFC 6901).
    var pointerText: String { replacing("~", with: "~0").replacing("/", with: "~1") }
}
