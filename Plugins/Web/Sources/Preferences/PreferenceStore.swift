import Foundation
import PluginKit
import Samples
import Synchronization

/// The units that persons have chosen for these pages.
///
/// They are in the plugin's state, by the person's name; other units come from `hub.conf`.
final class PreferenceStore: Sendable {
    private let state: PluginState
    private let chosen = Mutex<[String: [String: String]]>([:])

    init(_ state: PluginState) { self.state = state }

    /// Reads the state; called before the first request.
    func read() async throws {
        let kept = try await state.transaction { transaction in
            try transaction.keys(prefix: Self.prefix).map { key in
                (String(key.dropFirst(Self.prefix.count)), try transaction.text(key) ?? "")
            }
        }
        for (person, text) in kept {
            let units = try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))
            chosen.withLock { $0[person] = units }
        }
    }

    private static let prefix = "units/"

    /// The chosen units by type; empty if there are none.
    func units(of person: String) -> [String: String] { chosen.withLock { $0[person] ?? [:] } }

    /// - Parameter units: by type; types without an entry use the unit of `hub.conf`.
    func set(_ units: [String: String], of person: String) async throws {
        let text = String(decoding: try JSONEncoder().encode(units), as: UTF8.self)
        try await state.set(Self.prefix + person, to: units.isEmpty ? nil : .text(text))
        chosen.withLock { $0[person] = units.isEmpty ? nil : units }
    }

    /// The person, with the chosen units instead of those of `hub.conf`.
    func applied(to person: Welcome.PersonEntry) -> Welcome.PersonEntry {
        var person = person
        person.units.merge(units(of: person.name)) { _, chosen in chosen }
        return person
    }
}
