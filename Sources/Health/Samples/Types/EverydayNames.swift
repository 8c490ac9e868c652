/// Everyday names of types, in addition to the registry's names: `steps`, `sleep`, `blood pressure`.
///
/// They are for text that people type. A record names its type as the registry does.
package enum EverydayNames {
    /// The everyday names of a type, the usual one first.
    package static func names(of type: HealthType) -> [String] {
        let nutrient = type.id.rawValue.wholeMatch(of: /dietary([A-Z].*)/).map { [words(String($0.1))] } ?? []
        let all = type.everydayNames + nutrient.filter { !type.everydayNames.contains($0) }
        return all.filter { byName[plain($0)] == type.id }
    }

    /// Finds a type by a registry name in any case or by an everyday name; `nil` if there is none or several.
    package static func type(_ text: String) -> HealthType? {
        TypeRegistry.standard.resolve(text) ?? byName[plain(text)].flatMap(TypeRegistry.standard.type)
    }

    /// Types by name, without case, spaces, hyphens and underscores.
    ///
    /// Names that several types share are left out.
    private static let byName: [String: TypeID] = {
        var (found, shared): ([String: TypeID], Set<String>) = ([:], [])
        func add(_ name: String, _ id: TypeID) {
            let name = plain(name)
            if let other = found[name], other != id { shared.insert(name) } else { found[name] = id }
        }
        for type in TypeRegistry.standard.all {
            for name in [type.id.rawValue, type.displayName] + type.aliases.names { add(name, type.id) }
        }
        // An everyday name must not replace another type's registry name.
        let registry = Set(found.keys)
        for type in TypeRegistry.standard.all {
            for name in type.everydayNames where !registry.contains(plain(name)) { add(name, type.id) }
        }
        for type in TypeRegistry.standard.all {
            guard let nutrient = type.id.rawValue.wholeMatch(of: /dietary([A-Z].*)/)?.1,
                found[plain(String(nutrient))] == nil
            else { continue }
            add(String(nutrient), type.id)
        }
        return found.filter { !shared.contains($0.key) }
    }()

    private static func plain(_ text: String) -> String {
        text.lowercased().filter { !$0.isWhitespace && $0 != "-" && $0 != "_" }
    }

    /// `VitaminC` as `vitamin c`.
    private static func words(_ name: String) -> String {
        String(
            name.enumerated().flatMap { $0.offset > 0 && $0.element.isUppercase ? [" ", $0.element] : [$0.element] }
        )
        .lowercased()
    }
}
