import HubStore
import HubWire
import Samples

/// The characteristics of persons: their sex, blood type, date of birth (Protocol R8.62).
///
/// There is one value for each person and type. A value in `hub.conf` takes precedence, because the owner wrote it; otherwise the record
/// with the latest start counts.
struct Characteristics {
    static let types = TypeRegistry.standard.all.filter { $0.kind == .characteristic }.map(\.id)

    /// The value of a record that says a person's characteristic is not set.
    static let notSet = "notSet"

    /// The characteristics of one person, a member for each type; one without a value is not set.
    ///
    /// - Parameters:
    ///   - said: the values in `hub.conf`.
    ///   - mayRead: whether a record may be read; one that may not is treated as absent.
    ///   - isAsked: whether a type may be returned.
    static func of(
        _ person: Person, said: [TypeID: String], in store: Store, where mayRead: @Sendable (StoredRecord) -> Bool,
        ofType isAsked: @Sendable (TypeID) -> Bool
    ) async throws -> [String: HubStatus.Characteristic] {
        var found: [String: HubStatus.Characteristic] = [:]
        for type in types where isAsked(type) {
            let newest = try await store.newest(of: type, person)
            let record = newest.flatMap { mayRead($0) ? value($0) : nil }
            let written = said[type].map { HubStatus.Characteristic(value: $0, from: .configuration) }
            var characteristic = written ?? record ?? HubStatus.Characteristic()
            // A record that agrees with hub.conf is not repeated; only a different value is listed as overruled.
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
