package import HealthText
package import Samples

/// What was measured together and waits for a person.
package struct Weighing: Sendable {
    package private(set) var records: [StoredRecord]

    package init(_ record: StoredRecord) { records = [record] }

    /// Those of the inbox, in the order of their first records.
    package static func all(of records: [StoredRecord]) -> [Weighing] {
        var (weighings, places): ([Weighing], [String: Int]) = ([], [:])
        for record in records {
            guard case .sample(let sample) = record.record, let group = sample.group else {
                weighings.append(Weighing(record))
                continue
            }
            // A group is of one plugin: another's may have the same name.
            let name = "\(sample.source.plugin)/\(group)"
            if let place = places[name] {
                weighings[place].records.append(record)
            } else {
                places[name] = weighings.count
                weighings.append(Weighing(record))
            }
        }
        return weighings
    }

    private var first: StoredRecord? { records.min { $0.number < $1.number } }

    /// The record to name: the others go along.
    package var number: Int64 { first?.number ?? 0 }

    /// Why it has no person: the candidates of its weight, with their probabilities.
    package var why: String {
        // The weight knows best: it is what tells people apart.
        let telling = records.first { $0.type == .weight } ?? first
        if case .nobody(let reason)? = telling?.assignment { return reason }
        return ""
    }

    /// ``why`` for people, beside the values.
    ///
    /// - Parameter shownName: how a person of that id is called.
    package func why(_ shownName: (String) -> String) -> String { Odds(why).text(shownName) ?? why }
}

/// Why a record looks wrong.
package enum Doubts {
    /// Sentences for people.
    ///
    /// - Parameter reader: how they read values.
    package static func of(_ stored: StoredRecord, for reader: Reader) -> [String] {
        guard case .sample(let sample) = stored.record else { return [] }
        var doubts: [String] = []
        if stored.implausible.contains(.value) {
            doubts.append("the value is \(ValueText.doubt(stored, for: reader) ?? "implausible")")
        }
        func doubt(_ time: Timestamp, _ verb: String) {
            let isEarly = time.microseconds < SampleMembers.earliest
            doubts.append("it \(verb) \(isEarly ? "before 1900" : "after the hub's clock when it came")")
        }
        if stored.implausible.contains(.start) { doubt(sample.start, "starts") }
        if stored.implausible.contains(.end) { doubt(sample.end, "ends") }
        return doubts
    }
}
