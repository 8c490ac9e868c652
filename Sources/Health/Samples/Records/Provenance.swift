/// How a value was obtained, so that measured and estimated values are never mixed.
public enum Provenance: Hashable, Sendable {
    /// A device or a person read it.
    case measured
    /// Computed from other records by a formula with a version.
    case derived(formula: String, version: String, basis: [Basis])
    /// Stands in for a value that was not measured.
    case filled(method: String, basis: [Basis])

    /// A record that a value was made from.
    public enum Basis: Hashable, Sendable {
        /// The hub's number for the record.
        case number(Int64)
        /// The key of a record of the same source, usually in the same group.
        case key(RecordKey)
    }
}

/// A system or hub that a record passed through; the first one created it.
public enum OriginStep: Hashable, Sendable {
    /// A system other than a hub, such as `withings`, and the account on it.
    case system(name: String, account: String?)
    /// A hub, by its random id.
    case hub(id: String)
}
