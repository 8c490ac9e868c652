import HubStore
import HubWire
import Samples

/// What is known of persons themselves: their sex, blood type, date of birth (Protocol R8.62).
///
/// There is one value for each person and type. What `hub.conf` says holds, for its owner wrote it down; else the record with the latest start.
struct Characteristics {
    static let types = TypeRegistry.standard.all.filter { $0.kind == .characteristic }.map(\.id)

    /// What a record says where a person wants no value to be known.
    static let notSet = "notSet"

    /// Those of one person, a member for each type; without a value it is not set.
    ///
    /// - Parameters:
    ///   - said: by `hub.conf`.
    ///   - mayRead: whether a record may be read; one that may not is as if it did not exist.
    ///   - isAsked: whether anything of a type may be told.
    static func of(
        _ person: Person, said: [TypeID: String], in store: Store, where mayRead: (StoredRecord) -> Bool,
        ofType isAsked: (TypeID) -> Bool
    ) async throws -> [String: HubStatus.Characteristic] {
        var found: [String: HubStatus.Characteristic] = [:]
        for type in types where isAsked(type) {
            let newest = try await store.newest(of: type, person)
            let record = newest.flatMap { mayRead($0) ? value($0) : nil }
            let written = said[type].map { HubStatus.Characteristic(value: $0, from: .configuration) }
            var characteristic = written ?? record ?? HubStatus.Characteristic()
            // What holds is said once; what does not, only where it is something else.
            if let written, let record, record.value != written.value {
                characteristic.overruled = .init(value: record.value, number: record.number, start: record.start)
            }
            found[type.rawValue] = characteristic
        }
        return found
    }

    private static func value(_ stored: StoredRecord) -> HubStatus.Characteristic? {
        guard case .sample(let sample) = stored.record, case .characteristic(let text, _) = sample.value else {
            return nil
        }
        return HubStatus.Characteristic(
            value: text == notSet ? nil : text, from: .record, number: stored.number, start: sample.start.text)
    }
}
