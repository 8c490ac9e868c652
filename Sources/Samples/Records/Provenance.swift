/// How a value came to be: measured is never mixed with guessed.
public enum Provenance: Hashable, Sendable {
    /// A device or a person read it.
    case measured
    /// Computed from other records by a formula with a version.
    case derived(formula: String, version: String, basis: [Basis])
    /// In the place of a value that was not measured.
    case filled(method: String, basis: [Basis])

    /// A record that a value was made from.
    public enum Basis: Hashable, Sendable {
        /// The hub's number of the record.
        case number(Int64)
        /// The key of a record of the same source, usually of the same group.
        case key(RecordKey)
    }
}

/// A system or hub that a record passed on its way; the first one is where it was born.
public enum OriginStep: Hashable, Sendable {
    /// A system other than a hub, such as `withings`, and the account there.
    case system(name: String, account: String?)
    /// A hub, by its random id.
    case hub(id: String)
}
