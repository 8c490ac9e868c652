import HubSettings
import HubWire

/// Finds day values that an instance waits for and no instance makes: they would never come, without any visible error.
///
/// Samples need no such check: people may enter by hand those that no plugin writes.
struct DayProducers {
    private let configuration: HubConfiguration
    /// The use of day values of the instances that run, by instance.
    private let uses: [String: DayUse]

    /// The program of this project that makes day values.
    static let usualKind = "gap-filler"

    init(_ configuration: HubConfiguration, _ uses: [String: DayUse]) {
        (self.configuration, self.uses) = (configuration, uses)
    }

    /// The day values that an instance waits for and no enabled instance makes, with the remedy, by instance.
    var warnings: [String: [SettingObjection]] {
        let made = Set(uses.values.flatMap { $0.makes ?? [] })
        // A program on another machine cannot be asked for the values that it makes.
        guard !configuration.plugins.contains(where: { $0.enabled && !$0.startsHere && $0.kind == Self.usualKind })
        else { return [:] }
        return uses.compactMapValues { use in
            let missing = Set(use.reads ?? []).subtracting(made).sorted()
            guard !missing.isEmpty else { return nil }
            return [
                SettingObjection(
                    .warning,
                    reason:
                        "waits for day values of \(missing.joined(separator: ", ")), which no instance computes: \(remedy(missing, made))"
                )
            ]
        }
    }

    private func remedy(_ missing: [String], _ made: Set<String>) -> String {
        Self.remedy(
            made.union(missing), maker: uses.filter { $0.value.makes != nil }.keys.sorted().first,
            disabled: configuration.plugins.first { $0.kind == Self.usualKind && !$0.enabled }?.name)
    }

    /// The line of `hub.conf` that adds day values.
    ///
    /// - Parameters:
    ///   - types: all types to be made.
    ///   - maker: an instance that runs and makes day values.
    ///   - disabled: an instance that would make them, but is disabled.
    static func remedy(_ types: Set<String>, maker: String?, disabled: String?) -> String {
        let line = "types = [\(types.sorted().map { "\"\($0)\"" }.joined(separator: ", "))]"
        if let maker { return "write \(line) into [plugin.\(maker)]" }
        if let disabled { return "write enabled = true and \(line) into [plugin.\(disabled)]" }
        return "add [plugin.\(usualKind)] with enabled = true and \(line)"
    }
}
