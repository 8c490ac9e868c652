import Samples

/// A person's decision about a type in one direction: reading it, or sharing it with the hub.
public enum PermissionState: String, Sendable, Hashable, Codable, CaseIterable {
    case granted, denied
    /// `hub.conf` has a list without the type: it is not allowed, and not denied either.
    case notDetermined
}

/// The types of `read` or `write` of `grants` in `hub.conf`: ids, `*`, `x.VENDOR.*`, `!TYPE` for a denied one, and `!*` for all that are
/// not granted.
public struct TypePermissions: Sendable, Hashable {
    /// `nil` if `hub.conf` has no list: then everything that the plugin asks for is granted.
    public private(set) var granted: [String]?
    /// The ids in the order of the file.
    public private(set) var denied: [String] = []

    /// - Parameter written: the list of `hub.conf`; aliases such as `bodyMass` are resolved.
    public init(_ written: [String]?) {
        guard let written else { return }
        granted = Self.resolved(written.filter { !$0.hasPrefix(Self.not) })
        denied = Self.resolved(written.filter { $0.hasPrefix(Self.not) }.map { String($0.dropFirst()) })
    }

    /// The prefix of a denied type.
    public static let not = "!"
    /// All types that a plugin asks for.
    public static let all = "*"

    /// The types by the ids that records have, without duplicates: `bodyMass` becomes `weight`.
    public static func resolved(_ types: [String]) -> [String] {
        var known: Set<String> = []
        return types.map { TypeRegistry.standard.resolve($0)?.id.rawValue ?? $0 }.filter { known.insert($0).inserted }
    }

    /// The decision about a type; for a correlation, it follows from its members.
    ///
    /// - Parameter type: an id, or a pattern that a plugin asks for.
    public func state(of type: String) -> PermissionState {
        if let members = CorrelationMembers(of: type) { return members.state(by: self) }
        if denied.contains(type) { return .denied }
        guard let granted else { return .granted }
        if granted.contains(where: { TypePattern($0).covers(type) }) { return .granted }
        return denied.contains(Self.all) ? .denied : .notDetermined
    }

    /// The granted types among those asked for; if they contain `*` or a pattern, the denied types must be excluded from it.
    public func granted(of asked: [String]) -> [String] {
        let asked = Self.resolved(asked)
        let all =
            granted.map { granted in
                asked.filter { name in granted.contains { TypePattern($0).covers(name) } }
                    + granted.filter { name in !asked.contains(name) && asked.contains { TypePattern($0).covers(name) }
                    }
            } ?? asked
        let types = all.filter { !denied.contains($0) && !CorrelationMembers.correlations.contains($0) }
        if types.contains(Self.all) { return types }
        return types + CorrelationMembers.correlations.filter { CorrelationMembers(of: $0)?.fit(types) ?? false }
    }

    /// The denied types among those asked for.
    public func denied(of asked: [String]) -> [String] {
        let asked = Self.resolved(asked)
        let single = denied.filter { name in
            !asked.contains(name) && asked.contains { TypePattern($0).covers(name) }
        }
        // If everything but some members is granted, the correlation must be excluded like those members.
        let broken =
            granted(of: asked).contains(Self.all)
            ? CorrelationMembers.correlations.filter { state(of: $0) == .denied } : []
        return asked.filter { state(of: $0) == .denied } + single + broken
    }

    // MARK: - Changing

    /// Grants a type, or with `*` everything that is asked for.
    public mutating func allow(_ type: String) {
        if type == Self.all {
            (granted, denied) = ([Self.all], [])
            return
        }
        denied.removeAll { $0 == type }
        if state(of: type) != .granted { granted?.append(type) }
    }

    /// Denies a type, or with `*` everything that is asked for.
    public mutating func deny(_ type: String) {
        if type == Self.all {
            (granted, denied) = ([], [Self.all])
            return
        }
        // Without a list everything is granted; keep it so for the other types.
        granted = (granted ?? [Self.all]).filter { $0 != type }
        if !denied.contains(type) { denied.append(type) }
    }

    /// The list in the form of `hub.conf`.
    public var written: [String]? { granted.map { $0 + denied.map { Self.not + $0 } } }
}

extension KeyedDecodingContainer {
    /// Reads a word of a newer hub as none, so that the rest of its answer stays readable.
    fileprivate func decodeIfPresent(_ type: PermissionState.Type, forKey key: Key) throws -> PermissionState? {
        try decodeIfPresent(String.self, forKey: key).flatMap(PermissionState.init)
    }
}

/// The decision about one type that a plugin asks for.
public struct Permission: Sendable, Hashable, Codable {
    /// An id; `*` stands for all types without an entry of their own.
    public var type: String
    /// `nil` if the plugin does not ask for it; `share` likewise.
    public var read: PermissionState?
    public var share: PermissionState?

    public init(type: String, read: PermissionState? = nil, share: PermissionState? = nil) {
        (self.type, self.read, self.share) = (type, read, share)
    }

    /// An entry for each type that is asked for or decided about, patterns first.
    public static func all(
        reads: [String], _ read: TypePermissions, writes: [String], _ write: TypePermissions
    ) -> [Permission] {
        let asked = (reads: TypePermissions.resolved(reads), writes: TypePermissions.resolved(writes))
        func state(of type: String, _ asked: [String], _ permissions: TypePermissions) -> PermissionState? {
            asked.contains { TypePattern($0).covers(type) } ? permissions.state(of: type) : nil
        }
        let names =
            asked.reads + asked.writes + (read.granted ?? []) + read.denied + (write.granted ?? []) + write.denied
        return Set(names).sorted { left, right in
            (left.hasSuffix("*") ? 0 : 1, left) < (right.hasSuffix("*") ? 0 : 1, right)
        }.compactMap { type in
            let permission = Permission(
                type: type, read: state(of: type, asked.reads, read), share: state(of: type, asked.writes, write))
            return permission.read == nil && permission.share == nil ? nil : permission
        }
    }
}
