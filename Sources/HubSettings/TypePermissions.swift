import Samples

/// What a person has decided about a type, in one direction: reading it, or sharing it with the hub.
public enum PermissionState: String, Sendable, Hashable, Codable, CaseIterable {
    case granted, denied
    /// `hub.conf` has a list, and the type is not in it: it is not allowed, and was not denied either.
    case notDetermined
}

/// The types of `read` or `write` of `grants` in `hub.conf`: ids, `*`, `x.VENDOR.*`, `!TYPE` for one that is denied, and `!*` for
/// all that are not granted.
public struct TypePermissions: Sendable, Hashable {
    /// `nil` where `hub.conf` has no list: then all that the plugin asks for is granted.
    public private(set) var granted: [String]?
    /// By id, in the order of the file.
    public private(set) var denied: [String] = []

    /// - Parameter written: as `hub.conf` has it; aliases such as `bodyMass` are resolved.
    public init(_ written: [String]?) {
        guard let written else { return }
        granted = Self.resolved(written.filter { !$0.hasPrefix(Self.not) })
        denied = Self.resolved(written.filter { $0.hasPrefix(Self.not) }.map { String($0.dropFirst()) })
    }

    /// Marks what is denied.
    public static let not = "!"
    /// All that a plugin asks for.
    public static let all = "*"

    /// Each type by the id that records have, and once: `bodyMass` is `weight`.
    public static func resolved(_ types: [String]) -> [String] {
        var known: Set<String> = []
        return types.map { TypeRegistry.standard.resolve($0)?.id.rawValue ?? $0 }.filter { known.insert($0).inserted }
    }

    /// What is decided about a type; of a correlation, what follows for it from its members.
    ///
    /// - Parameter type: an id, or a pattern that a plugin asks for.
    public func state(of type: String) -> PermissionState {
        if let members = CorrelationMembers(of: type) { return members.state(by: self) }
        if denied.contains(type) { return .denied }
        guard let granted else { return .granted }
        if granted.contains(where: { TypePattern($0).covers(type) }) { return .granted }
        return denied.contains(Self.all) ? .denied : .notDetermined
    }

    /// What is granted of what is asked for; with `*` or a pattern among it, what is denied is to be left out.
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

    /// What is denied of what is asked for.
    public func denied(of asked: [String]) -> [String] {
        let asked = Self.resolved(asked)
        let single = denied.filter { name in
            !asked.contains(name) && asked.contains { TypePattern($0).covers(name) }
        }
        // Where all is granted but some members, the correlation is to be left out as they are.
        let broken =
            granted(of: asked).contains(Self.all)
            ? CorrelationMembers.correlations.filter { state(of: $0) == .denied } : []
        return asked.filter { state(of: $0) == .denied } + single + broken
    }

    // MARK: - Changing

    /// The list with a type granted, or with all that is asked for.
    public mutating func allow(_ type: String) {
        if type == Self.all {
            (granted, denied) = ([Self.all], [])
            return
        }
        denied.removeAll { $0 == type }
        if state(of: type) != .granted { granted?.append(type) }
    }

    /// The list with a type denied, or with all that is asked for.
    public mutating func deny(_ type: String) {
        if type == Self.all {
            (granted, denied) = ([], [Self.all])
            return
        }
        // Without a list all is granted: it stays so for the others.
        granted = (granted ?? [Self.all]).filter { $0 != type }
        if !denied.contains(type) { denied.append(type) }
    }

    /// As `hub.conf` has it.
    public var written: [String]? { granted.map { $0 + denied.map { Self.not + $0 } } }
}

/// What is decided about one type that a plugin asks for.
public struct Permission: Sendable, Hashable, Codable {
    /// By id; `*` stands for all types that have no line of their own.
    public var type: String
    /// `nil` where the plugin does not ask for it.
    public var read: PermissionState?
    public var share: PermissionState?

    public init(type: String, read: PermissionState? = nil, share: PermissionState? = nil) {
        (self.type, self.read, self.share) = (type, read, share)
    }

    /// A line for each type that is asked for or decided about, the patterns first.
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
