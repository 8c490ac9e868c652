import Foundation
import PluginKit
import Synchronization

/// A section of `hub.conf` that a form changes.
enum ChangedSection: Sendable, Hashable {
    case plugin(String), person(String), hub

    /// The argument of the hub's command `configure`.
    var argument: (name: String, value: SettingValue) {
        switch self {
        case .plugin(let name): ("instance", .string(name))
        case .person(let name): ("person", .string(name))
        case .hub: ("hub", .boolean(true))
        }
    }

    var title: String {
        switch self {
        case .plugin(let name), .person(let name): name
        case .hub: "the house"
        }
    }

    /// The page of its form.
    var page: String { if case .plugin(let name) = self { PluginAddresses.of(name) } else { "/setup" } }
}

/// A change of a section: arguments of the hub's command `configure`.
struct SectionChange: Sendable {
    let section: ChangedSection
    /// Whether to add a person.
    var adds = false
    var enabled: Bool?
    var set: [String: SettingValue] = [:]
    var unset: [String] = []
    /// The revision of `hub.conf` that the person has seen.
    var revision: String?

    var isEmpty: Bool { !adds && enabled == nil && set.isEmpty && unset.isEmpty }

    init(_ section: ChangedSection, fields: [SettingField] = []) {
        self.section = section
        for field in fields {
            switch field.change {
            case .set(let value): set[field.declaration.name] = value
            case .unset: unset.append(field.declaration.name)
            case nil: break
            }
        }
    }

    func arguments() throws -> [String: SettingValue] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        var arguments = [section.argument.name: section.argument.value]
        if let enabled { arguments["enabled"] = .boolean(enabled) }
        if let revision { arguments["revision"] = .string(revision) }
        if !unset.isEmpty { arguments["unset"] = .list(unset.map { .string($0) }) }
        if !set.isEmpty {
            arguments["set"] = .list(
                try set.sorted { $0.key < $1.key }.map { name, value in
                    .string("\(name)=\(String(decoding: try encoder.encode(value), as: UTF8.self))")
                })
        }
        return arguments
    }
}

extension ConfigureReport {
    /// Whether nothing would change.
    var isNothing: Bool { changes.isEmpty && added != true }

    /// The change that restores the former state, and the names of settings that it cannot restore.
    func reversed(in section: ChangedSection) -> (change: SectionChange, lost: [String]) {
        var (change, lost) = (SectionChange(section), [String]())
        change.revision = revision
        for part in changes {
            if part.name == "enabled" {
                change.enabled = part.before?.boolean
            } else if part.secret == true, part.wasSet == true {
                lost.append(part.name)
            } else if let before = part.before {
                change.set[part.name] = before
            } else {
                change.unset.append(part.name)
            }
        }
        return (change, lost)
    }
}

/// Changes that were shown to a person and not yet confirmed; in memory only, because they may contain secrets.
final class PendingChanges: Sendable {
    private struct Entry: Sendable {
        let id: String
        let session: String
        let change: SectionChange
        let until: ContinuousClock.Instant
    }
    private let entries = Mutex<[Entry]>([])
    private static let (most, time) = (200, Duration.seconds(1_800))

    /// - Returns: the id of the change, valid for this session alone.
    func put(_ change: SectionChange, for viewer: Viewer) -> String {
        let id = AccessKey().text
        entries.withLock { entries in
            entries.removeAll { $0.until < .now }
            if entries.count >= Self.most { entries.removeFirst() }
            entries.append(Entry(id: id, session: viewer.session.hash, change: change, until: .now + Self.time))
        }
        return id
    }

    func take(_ id: String?, of viewer: Viewer) -> SectionChange? {
        entries.withLock { entries in
            entries.removeAll { $0.until < .now }
            guard let place = entries.firstIndex(where: { $0.id == id && $0.session == viewer.session.hash }) else {
                return nil
            }
            return entries.remove(at: place).change
        }
    }
}

/// The hub's plan in words.
enum PlanText {
    static func changes(_ answer: ConfigureReport, of section: ChangedSection) -> HTML {
        let added: HTML? =
            answer.added == true
            ? "<li>a section of \(section.title), which only you take out again, in hub.conf</li>" : nil
        return "<ul>\(added)\(HTML.each(answer.changes) { "<li>\(change($0))</li>" })</ul>"
    }

    static func change(_ change: ConfigureReport.Change) -> HTML {
        func shown(_ value: SettingValue?) -> HTML {
            guard let value else { return "not set" }
            return "<code>\(SettingField.text(value).replacing("\n", with: ", "))</code>"
        }
        if change.name == "enabled" { return "\(change.after?.boolean == true ? "enabled" : "disabled")" }
        if change.secret == true {
            return
                "<code>\(change.name)</code>: another one, which is not shown; it was \(change.wasSet == true ? "" : "not ")set"
        }
        return "<code>\(change.name)</code>: \(shown(change.after)); it was \(shown(change.before))"
    }

    /// The changes for instances; unchanged ones are omitted.
    static func steps(_ plan: ApplyReport) -> HTML {
        var lines = plan.instances.filter { $0.action != .leave }.map { step -> HTML in
            let deed =
                switch step.action {
                case .start: "is started"
                case .stop: "is ended"
                case .restart: "is ended and started again"
                case .leave, .greet: "goes on, and greets the hub again"
                }
            return "<li>\(step.instance) \(deed)\(step.why.map { ": \($0)" } ?? "")</li>"
        }
        if !plan.persons.isEmpty { lines.append("<li>persons change: \(plan.persons.joined(separator: ", "))</li>") }
        if !plan.needsRestart.isEmpty {
            lines.append(
                "<li>\(plan.needsRestart.joined(separator: ", ")) of [hub]: when the hub is started again</li>")
        }
        if lines.isEmpty { lines = ["<li>No plugin notices it.</li>"] }
        return "<ul>\(HTML.joined(lines, by: ""))</ul>"
    }

    static func problems(_ problems: [SettingsProblem]) -> HTML {
        guard !problems.isEmpty else { return HTML() }
        return
            "<ul>\(HTML.each(problems) { "<li class=\"\($0.severity == .error ? "bad" : "faint")\">\(problem($0))</li>" })</ul>"
    }

    static func problem(_ problem: SettingsProblem) -> String {
        let place = [problem.table.map { "[\($0)]" }, problem.key].compactMap(\.self).joined(separator: " ")
        let suggestion = problem.suggestion.map { "; did you mean \($0)?" } ?? ""
        return "line \(problem.line)\(place.isEmpty ? "" : ", \(place)"): \(problem.message)\(suggestion)"
    }
}
