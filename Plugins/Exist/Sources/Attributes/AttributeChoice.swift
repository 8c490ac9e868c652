import PluginKit

/// Reads the setting `attributes`: `steps`, or `steps=stepCount/sum` to fill an attribute from other days than the default.
enum AttributeChoice {
    static let rule = TextRule(
        pattern: "[A-Za-z][A-Za-z0-9_ ]*(=[A-Za-z0-9._]+/[A-Za-z0-9_.-]+)?",
        expected: "an attribute, or attribute=type/series", example: "weight")

    /// - Throws: ``PluginFailure`` that lists the allowed values.
    static func read(_ entries: [String]) throws(PluginFailure) -> [ExistAttribute] {
        var read: [ExistAttribute] = []
        for entry in entries {
            let attribute = try one(entry)
            guard !read.contains(where: { $0.name == attribute.name }) else {
                throw failure("\"\(attribute.name)\" is there twice")
            }
            guard !read.contains(where: { $0.source == attribute.source }) else {
                throw failure("\"\(entry)\": another attribute has the same days already")
            }
            read.append(attribute)
        }
        guard !read.isEmpty else { throw failure("expected at least one") }
        return read
    }

    private static func one(_ entry: String) throws(PluginFailure) -> ExistAttribute {
        let sides = entry.split(separator: "=", maxSplits: 1).map(String.init)
        let source = try sides.count > 1 ? source(sides[1], entry) : nil
        if var known = ExistAttribute.byName[sides[0]] {
            guard known.type != .text else { throw failure("\"\(entry)\" holds text, and the hub's days are numbers") }
            if var source {
                // Keep Exist's unit; attributes without one (times and counts) are sent unconverted.
                source.unit = known.source?.unit
                known.source = source
            }
            guard known.source != nil else {
                throw failure(
                    "\"\(entry)\": the hub has no days for this; name the series that fills it: \"\(sides[0])=type/series\""
                )
            }
            return known
        }
        guard let source else {
            let nearest = ExistAttribute.byName.keys.filter { $0.contains(sides[0]) || sides[0].contains($0) }.sorted()
            throw failure(
                "\"\(entry)\" is not an attribute of Exist that is known here"
                    + (nearest.isEmpty ? "" : "; there is \(nearest.prefix(3).joined(separator: ", "))")
                    + "; for one of your own write \"Its label=type/series\"")
        }
        return ExistAttribute(
            name: slug(sides[0]), group: "health", type: .decimal, decimals: 2, label: sides[0], source: source)
    }

    private static func source(_ text: String, _ entry: String) throws(PluginFailure) -> DaySource {
        let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, let type = TypeRegistry.standard.resolve(parts[0])?.id ?? (try? TypeID(parts[0]))
        else {
            throw failure("\"\(entry)\": expected type/series after =, such as weight/median30")
        }
        return DaySource(type: type, series: parts[1], unit: nil)
    }

    /// The name that Exist probably derives from a label; the answer to `create` is authoritative.
    static func slug(_ label: String) -> String {
        String(label.lowercased().map { $0 == " " ? "_" : $0 })
    }

    private static func failure(_ text: String) -> PluginFailure {
        PluginFailure(.settings, "setting attributes: \(text)")
    }
}
