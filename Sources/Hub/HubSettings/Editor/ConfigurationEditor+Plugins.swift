import HubWire

/// The sections of plugins.
extension ConfigurationEditor {
    private static func table(_ plugin: String) -> [String] { ["plugin", plugin] }

    /// Whether a plugin has a section.
    public func hasPlugin(_ plugin: String) -> Bool { entry(Self.table(plugin)) != nil }

    /// Whether a plugin is enabled, explicitly or by default; false if there is no section.
    public func isEnabled(_ plugin: String) -> Bool {
        has(Self.table(plugin)) && value("enabled", in: Self.table(plugin))?.boolean ?? true
    }

    /// Writes `enabled` of a plugin.
    public mutating func setEnabled(_ plugin: String, _ truth: Bool) throws(EditError) {
        guard isEnabled(plugin) != truth else { return }
        try set("enabled", in: Self.table(plugin), to: .boolean(truth), isSecret: false)
    }

    /// The sections that start the program of a kind: it follows from `executable`, else from `kind`, else from their name.
    public func plugins(ofKind kind: String) -> [String] {
        names(in: ["plugin"]).filter { name in
            let (executable, named) = (value("executable", in: Self.table(name)), value("kind", in: Self.table(name)))
            return (executable?.string ?? "hub-\(named?.string ?? name)") == "hub-\(kind)"
        }
    }

    /// A list in `grants` of a plugin as it is written; `nil` if it is not written.
    ///
    /// - Parameter key: `read`, `write` or `owner`.
    public func grants(_ key: String, of plugin: String) -> [String]? {
        value(key, in: Self.table(plugin) + ["grants"])?.list?.compactMap(\.string)
    }

    /// Writes a list in `grants` of a plugin.
    public mutating func setGrants(_ key: String, of plugin: String, to words: [String]) throws(EditError) {
        let table = Self.table(plugin)
        guard has(table) else { throw missing(table) }
        try set(key, in: table + ["grants"], to: .list(words.map { .string($0) }), isSecret: false)
    }
}
