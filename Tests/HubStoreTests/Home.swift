import HubProcess
import HubStore
import Samples
import Testing

/// Three people, a store, and the records of their scale.
struct Home {
    let store: Store
    let people: [Person]
    var household: Household

    static let names = ["anna", "ben", "carl"]
    static let usual = [62.0, 75, 88]
    static let day: Int64 = 86_400
    static let scale = Source(plugin: "ihealth-hs5", device: "020000003001")

    init(_ folder: TemporaryFolder, expecting: Bool = true) async throws {
        store = try folder.open()
        people = try await store.ensurePersons(Home.names, recordedAt: 1)
        household = Household(
            zip(people, Home.usual).map { Household.Member($0, expectedWeight: expecting ? $1 : nil) })
    }

    func person(_ name: String) throws -> Assignment {
        .person(try #require(people.first { $0.name == name }))
    }

    /// The scale's records of one weigh-in, without a person.
    func group(_ name: String, _ kilograms: Double, at second: Int64, parts: Int = 4) throws -> [Sample] {
        let values = [
            ("weight", kilograms, "kg"), ("bodyFatPercentage", 0.21, "%"), ("hc.boneMass", 3.1, "kg"),
            ("leanBodyMass", 50, "kg"), ("x.ihealth.visceralFatLevel", 7, "count"),
        ]
        return try values.prefix(parts).map { type, value, unit in
            Sample(
                source: Home.scale, key: try #require(RecordKey("\(name) \(type)")), type: try TypeID(type),
                value: .quantity(value, unit: unit),
                start: Timestamp(microseconds: second * 1_000_000, offsetMinutes: 60),
                end: Timestamp(microseconds: second * 1_000_000, offsetMinutes: 60), group: parts > 1 ? name : nil)
        }
    }

    func intake(_ samples: [Sample], subject: (Subject, Assignment)? = nil) -> IntakeBatch {
        IntakeBatch(
            instance: "scale",
            records: samples.map { sample in
                var sample = sample
                sample.subject = subject?.0
                var household = household
                if subject != nil { household.members = [] }
                return IntakeRecord(
                    record: .sample(sample), assignment: subject?.1 ?? .nobody(reason: "several"), household: household)
            })
    }

    @discardableResult func give(_ samples: [Sample], subject: (Subject, Assignment)? = nil, now second: Int64)
        async throws -> [StoreResult]
    {
        let batch = intake(samples, subject: subject)
        return try #require(try await store.commit([batch], recordedAt: second * 1_000_000).first)
    }

    /// The person of each record of a group; `nil` if it has none.
    func owners(_ group: String) async throws -> [String?] {
        let query = RecordQuery { $0.group = group }
        return try await store.all(query).records.map { $0.assignment.person?.name }
    }

    func records(_ group: String) async throws -> [StoredRecord] {
        let query = RecordQuery { $0.group = group }
        return try await store.all(query).records
    }
}
