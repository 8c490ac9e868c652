import Foundation
import HubClient
import HubSettings
import HubWire
import Platform

/// The result of `hub setup`, actual or planned.
struct SetupReport: Encodable {
    typealias Change = SetupState.Change

    let file: String
    /// Whether the file is new.
    let created: Bool
    var written = false
    let changes: [Change]
    /// New files beside it, with one secret each.
    let secrets: [String]
    /// The path of the former text; absent for a new file.
    var before: String?
    /// Whether the running hub has applied it; absent if no hub runs or none was asked.
    var applied: Bool?
    /// The next commands.
    var next: [String] = []

    init(_ draft: SetupDraft) {
        (file, created) = (draft.path, draft.isNew)
        secrets = draft.secrets.keys.sorted()
        changes = LineDifference.changes(
            from: ShownLines(draft.old ?? HubTemplate.text, isHidden: draft.isHidden).lines,
            to: ShownLines(draft.text, isHidden: draft.isHidden).lines)
    }

    /// The report for people: the differences of a new file from the project's own, or the changes.
    var lines: [String] {
        let isNew = "\(file) is new: the project's hub.conf\(changes.isEmpty ? ", unchanged" : " with these changes")"
        var lines = [created ? isNew : file]
        var table: String?
        for change in changes {
            if change.table != table, let header = change.table, change.line.dropFirst(2) != header {
                lines.append("  \(header)")
            }
            table = change.table
            lines.append(change.line)
        }
        return lines + secrets.map { "\(Folder.parent(of: file))/\($0) is new, mode 0600: only the secret" }
    }

    func tell(_ isJSON: Bool, _ words: String?) throws {
        if isJSON { return try Output.json(try JSON.line(self)) }
        if let words { return Terminal.say(words) }
        Terminal.say(
            "\(file) is written" + (before.map { "; as it was it is \($0), and hub setup --undo puts it back" } ?? ""))
        if !next.isEmpty { Terminal.say("What to type next:") }
        for line in next { Terminal.say("  \(line)") }
    }

    /// The remaining steps, as commands to type.
    func next(_ configuration: HubConfiguration, isRunning: Bool) -> [String] {
        let kinds = configuration.plugins.filter(\.startsHere).map { ($0.name, $0.kind) }
        var next = isRunning ? [] : [typed("hub run")]
        for (name, kind) in kinds {
            switch kind {
            case "web": next.append(typed("hub web"))
            case "exist", "sami": next.append(typed("hub login \(name)"))
            case "http-ingest":
                // In a household, a token whose name begins with no person's name would have no owner.
                let owner = configuration.persons.count > 1 ? configuration.persons[0].name : "my"
                next.append(typed("hub ingest new \(owner)-phone"))
            default: break
            }
        }
        return next + [typed(isRunning ? "hub status" : "hub service install")]
    }

    /// A command about this file; names the file unless every command finds it, now or when it is written.
    func typed(_ command: String) -> String {
        let found = try? SetupFile.place(nil)
        let isFound = found.map { URL(filePath: $0).standardizedFileURL.resolvingSymlinksInPath().path } == file
        return isFound ? command : "\(command) --config \(OwnerEndpoints.quoted(file))"
    }
}
