import JSON
public import Samples

/// FHIR R4: a Bundle of type collection, with the Patients and their Observations.
public struct FHIRBundleExport: ExportWriter {
    public private(set) var account = ExportSummary()
    private var patients: Set<String> = []
    private var hasEntries = false

    public init() {}

    public mutating func begin(_ output: inout [UInt8]) {
        output.append(literal: #"{"resourceType":"Bundle","type":"collection","entry":["#)
    }

    public mutating func write(_ item: ExportItem, to output: inout [UInt8]) {
        do throws(FHIRObservation.Omission) {
            let observation = try FHIRObservation(item) { person in
                ["reference": .text(FHIRBundleExport.address(person)), "display": .text(person.name)]
            }
            if patients.insert(observation.person.uid).inserted {
                entry(FHIRBundleExport.address(observation.person), FHIRPatient.json(observation.person), &output)
            }
            entry("urn:uuid:" + (observation.json["id"]?.text ?? ""), observation.json, &output)
            account.written += 1
        } catch {
            account.leaveOut(error.reason)
        }
    }

    public mutating func end(_ output: inout [UInt8]) { output.append(literal: "\n]}\n") }

    private static func address(_ person: Person) -> String { "urn:uuid:" + RecordUUID.text(personID: person.uid) }

    private mutating func entry(_ address: String, _ resource: JSONTree, _ output: inout [UInt8]) {
        output.append(literal: "\n")
        if hasEntries {
            output.removeLast()
            output.append(literal: ",\n")
        }
        hasEntries = true
        output.append(
            contentsOf: JSONTree.object([.init("fullUrl", .text(address)), .init("resource", resource)]).bytes)
    }
}

/// FHIR R4 as NDJSON: one Observation per line, as in FHIR bulk data.
public struct FHIRLinesExport: ExportWriter {
    public private(set) var account = ExportSummary()
    private let joins: Bool

    /// - Parameter joinsCorrelations: whether the items contain the members of correlations. Use `false` if a single member may be corrected later:
    /// each member is then its own Observation.
    public init(joinsCorrelations: Bool) { joins = joinsCorrelations }

    public mutating func write(_ item: ExportItem, to output: inout [UInt8]) {
        do throws(FHIRObservation.Omission) {
            let observation = try FHIRObservation(item, joins: joins) { person in
                [
                    "reference": .text("Patient/" + RecordUUID.text(personID: person.uid)),
                    "display": .text(person.name),
                ]
            }
            output.append(contentsOf: observation.json.bytes)
            output.append(UInt8(ascii: "\n"))
            account.written += 1
        } catch {
            account.leaveOut(error.reason)
        }
    }
}

extension FHIRLinesExport {
    /// Why FHIR cannot represent a single record; `nil` if it can, or if the members of the record contain all of it.
    public static func refusal(of record: StoredRecord) -> String? {
        let item = ExportItem(record, json: [])
        guard TypeRegistry.standard.type(record.type)?.kind != .correlation else { return nil }
        do throws(FHIRObservation.Omission) {
            _ = try FHIRObservation(item, joins: false) { _ in [:] }
            return nil
        } catch {
            return "FHIR has no place for it: \(error.reason)"
        }
    }
}

/// A Patient resource.
///
/// It contains only the person's name.
enum FHIRPatient {
    static func json(_ person: Person) -> JSONTree {
        [
            "resourceType": "Patient", "id": .text(RecordUUID.text(personID: person.uid)),
            "name": [["text": .text(person.name)]],
        ]
    }
}
