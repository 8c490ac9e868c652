public import Samples

/// A selection of types: some types, or all but some.
public struct TypeSelection: Hashable, Sendable {
    /// `nil` for all.
    public let only: Set<TypeID>?
    /// Types excluded although ``only`` contains them or is `nil`.
    public let except: Set<TypeID>

    /// Every type.
    public static let all = TypeSelection()

    public init(only: Set<TypeID>? = nil, except: Set<TypeID> = []) {
        (self.only, self.except) = (only?.subtracting(except), only == nil ? except : [])
    }

    public var isAll: Bool { only == nil && except.isEmpty }

    public func contains(_ type: TypeID) -> Bool { only?.contains(type) ?? !except.contains(type) }

    /// The types in both.
    public func intersection(_ types: Set<TypeID>?) -> TypeSelection {
        guard let types else { return self }
        return TypeSelection(only: types.filter(contains))
    }
}

/// A client's permission to read, if it may not read everything.
///
/// All other records appear not to exist.
public struct ReadAllowance: Hashable, Sendable {
    /// Types of which the client may read the records of every source.
    public var types: TypeSelection
    /// The plugin kind whose records it may also read for all other types; `nil` for none.
    public var own: String?
    /// Microseconds since 1970.
    ///
    /// Records that ended earlier may not be read.
    ///
    /// It limits every query's `from`. It may move between the pages of an answer, so page tokens do not include it.
    public var since: Int64?

    public init(types: TypeSelection = .all, own: String? = nil, since: Int64? = nil) {
        (self.types, self.own, self.since) = (types, own, since)
    }

    /// Whether records of a type may be read, regardless of their time.
    func allows(_ type: TypeID, of plugin: String) -> Bool { types.contains(type) || plugin == own }
}
