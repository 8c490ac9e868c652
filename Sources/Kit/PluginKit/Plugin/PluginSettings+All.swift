import Samples

extension PluginSettings {
    /// Reads several settings and throws the faults of all of them together, so that a person can correct them in one go.
    ///
    /// - Throws: ``PluginFailure`` with ``PluginExit/settings``. Its ``PluginFailure/reasons`` hold the reasons of each reading that failed.
    public static func all<each Value>(
        _ reading: repeat () throws -> each Value
    ) throws(PluginFailure) -> (repeat each Value) {
        let results = (repeat Result { try (each reading)() })
        var reasons: [String] = []
        for result in repeat each results { reasons += Self.reasons(result) }
        guard reasons.isEmpty else { throw PluginFailure(settings: reasons) }
        do { return (repeat try (each results).get()) } catch { throw PluginFailure(settings: ["\(error)"]) }
    }

    /// Reads each element of a list setting and throws the faults of all of them together, like ``all(_:)``.
    public static func each<Element, Value>(
        _ elements: some Sequence<Element>, _ read: (Element) throws -> Value
    ) throws(PluginFailure) -> [Value] {
        let results = elements.map { element in Result { try read(element) } }
        let reasons = results.flatMap(Self.reasons)
        guard reasons.isEmpty else { throw PluginFailure(settings: reasons) }
        return results.compactMap { try? $0.get() }
    }

    /// The failure for an unknown type name in the setting `types`; it suggests the closest known type.
    package static func unknownType(_ name: String) -> PluginFailure {
        let near =
            TypeRegistry.standard.suggestion(for: name).map { "; did you mean \($0)?" } ?? "; hub types lists them"
        return PluginFailure(.settings, "setting types: there is no type \(name)\(near)")
    }

    private static func reasons<Value>(_ result: Result<Value, any Error>) -> [String] {
        guard case .failure(let error) = result else { return [] }
        return (error as? PluginFailure)?.reasons ?? ["\(error)"]
    }
}
