import Samples

extension PluginSettings {
    /// Reads several settings, and throws what is wrong with all of them at once: a person corrects them together.
    ///
    /// - Throws: ``PluginFailure`` with ``PluginExit/settings``, and in ``PluginFailure/reasons`` the reasons of each reading that failed.
    public static func all<each Value>(
        _ reading: repeat () throws -> each Value
    ) throws(PluginFailure) -> (repeat each Value) {
        let results = (repeat Result { try (each reading)() })
        var reasons: [String] = []
        for result in repeat each results { reasons += Self.reasons(result) }
        guard reasons.isEmpty else { throw PluginFailure(settings: reasons) }
        do { return (repeat try (each results).get()) } catch { throw PluginFailure(settings: ["\(error)"]) }
    }

    /// Reads each element of a setting that is a list, as ``all(_:)`` does.
    public static func each<Element, Value>(
        _ elements: some Sequence<Element>, _ read: (Element) throws -> Value
    ) throws(PluginFailure) -> [Value] {
        let results = elements.map { element in Result { try read(element) } }
        let reasons = results.flatMap(Self.reasons)
        guard reasons.isEmpty else { throw PluginFailure(settings: reasons) }
        return results.compactMap { try? $0.get() }
    }

    /// The failure of a name in the setting `types` that is no type, with the one that was probably meant.
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
