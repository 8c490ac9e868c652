public import Samples

/// Types by name, or all but some.
public struct TypeSelection: Hashable, Sendable {
    /// `nil` for all.
    public let only: Set<TypeID>?
    /// What is not meant although ``only`` has it, or is `nil`.
    public let except: Set<TypeID>

    /// Every type.
    public static let all = TypeSelection()

    public init(only: Set<TypeID>? = nil, except: Set<TypeID> = []) {
        (self.only, self.except) = (only?.subtracting(except), only == nil ? except : [])
    }

    public var isAll: Bool { only == nil && except.isEmpty }

    public func contains(_ type: TypeID) -> Bool { only?.contains(type) ?? !except.contains(type) }

    /// Those that are in both.
    public func intersection(_ types: Set<TypeID>?) -> TypeSelection {
        guard let types else { return self }
        return TypeSelection(only: types.filter(contains))
    }
}

/// What an asker may read, where that is not everything: the rest is as if it did not exist.
public struct ReadAllowance: Hashable, Sendable {
    /// Types of which it may read every source's records.
    public var types: TypeSelection
    /// The kind of plugin whose records it may read of the other types, too; `nil`: none.
    public var own: String?
    /// Microseconds since 1970: nothing that ended before it.
    ///
    /// No question's `from` is earlier than this. It may move while an answer is read, and the mark of a page does not have it.
    public var since: Int64?

    public init(types: TypeSelection = .all, own: String? = nil, since: Int64? = nil) {
        (self.types, self.own, self.since) = (types, own, since)
    }

    /// Whether records of a type may be read, whatever their time.
    func allows(_ type: TypeID, of plugin: String) -> Bool { types.contains(type) || plugin == own }
}
