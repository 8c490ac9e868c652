package import Samples

/// Records that were measured together and wait for a person.
package struct PendingWeighing: Sendable {
    package private(set) var records: [StoredRecord]

    package init(_ record: StoredRecord) { records = [record] }

    /// The weighings of the inbox, in the order of their first records.
    package static func all(of records: [StoredRecord]) -> [PendingWeighing] {
        var (weighings, places): ([PendingWeighing], [String: Int]) = ([], [:])
        for record in records {
            guard case .sample(let sample) = record.record, let group = sample.group else {
                weighings.append(PendingWeighing(record))
                continue
            }
            // A group belongs to one plugin; another plugin may use the same name.
            let name = "\(sample.source.plugin)/\(group)"
            if let place = places[name] {
                weighings[place].records.append(record)
            } else {
                places[name] = weighings.count
                weighings.append(PendingWeighing(record))
            }
        }
        return weighings
    }

    private var first: StoredRecord? { records.min { $0.number < $1.number } }

    /// The number of the record to use in commands; the others of the group follow it.
    package var number: Int64 { first?.number ?? 0 }

    /// Why the records have no person: the candidates for the weight, with their probabilities.
    package var why: String {
        // Prefer the weight, because it distinguishes people best.
        let telling = records.first { $0.type == .weight } ?? first
        if case .nobody(let reason)? = telling?.assignment { return reason }
        return ""
    }

    /// ``why`` as text for people, shown beside the values.
    ///
    /// - Parameter shownName: the display name for a person's id.
    package func why(_ shownName: (String) -> String) -> String { WeightOddsText(why).text(shownName) ?? why }
}

/// Reasons why a record looks wrong.
package enum PlausibilityWarnings {
    /// Sentences for people.
    ///
    /// - Parameter reader: the person's settings for reading values.
    package static func of(_ stored: StoredRecord, for reader: DisplayPreferences) -> [String] {
        guard case .sample(let sample) = stored.record else { return [] }
        var doubts: [String] = []
        if stored.implausible.contains(.value) {
            doubts.append("the value is \(ValueText.doubt(stored, for: reader) ?? "implausible")")
        }
        func doubt(_ time: Timestamp, _ verb: String) {
            let isEarly = time.microseconds < SampleMembers.earliest
            doubts.append("it \(verb) \(isEarly ? "before 1900" : "after its arrival, by the hub's clock")")
        }
        if stored.implausible.contains(.start) { doubt(sample.start, "starts") }
        if stored.implausible.contains(.end) { doubt(sample.end, "ends") }
        return doubts
    }
}
