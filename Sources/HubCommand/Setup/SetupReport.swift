import Foundation
import HubClient
import HubSettings
import HubWire

/// What `hub setup` has done, or would do.
struct SetupReport: Encodable {
    struct Change: Encodable {
        /// The header that stands above; absent above all of them.
        let table: String?
        /// `+` and the new line, or `-` and the one that goes.
        let line: String
    }

    let file: String
    /// Whether there was none.
    let created: Bool
    var written = false
    let changes: [Change]
    /// Files with a secret each, beside the file.
    let secrets: [String]
    /// Where the former text is; absent for a new file.
    var before: String?
    /// Whether the running hub follows; absent where none runs or was asked to.
    var applied: Bool?
    /// What to type next.
    var next: [String] = []

    init(_ draft: SetupDraft) {
        (file, created) = (draft.path, draft.isNew)
        secrets = draft.secrets.keys.sorted()
        let names = Set(draft.manifests.values.flatMap(\.settings).filter(\.isSecret).map(\.name))
        let difference = LineDifference(from: draft.old ?? HubTemplate.text, to: draft.text)
        changes = difference.parts.flatMap { part in
            part.lines(hiding: names).map { Change(table: part.header, line: $0) }
        }
    }

    /// For people: what a new file has beside the project's own, or what changes.
    var lines: [String] {
        var lines = [created ? "\(file) is new: the project's hub.conf with these changes" : file]
        var table: String?
        for change in changes {
            if change.table != table, let header = change.table, change.line != "+ \(header)" {
                lines.append("  \(header)")
            }
            table = change.table
            lines.append(change.line)
        }
        return lines + secrets.map { "\(Self.folder(file))/\($0) is new, mode 0600: the secret alone" }
    }

    private static func folder(_ path: String) -> String { URL(filePath: path).deletingLastPathComponent().path }

    func tell(_ isJSON: Bool, _ words: String?) throws {
        if isJSON { return try Output.json(try JSON.line(self)) }
        if let words { return Terminal.say(words) }
        Terminal.say(
            "\(file) is written" + (before.map { "; as it was it is \($0), and hub setup --undo puts it back" } ?? ""))
        if !next.isEmpty { Terminal.say("What to type next:") }
        for line in next { Terminal.say("  \(line)") }
    }

    /// What is left to do, as it is typed.
    static func next(_ configuration: HubConfiguration, of file: String, isRunning: Bool) -> [String] {
        let found = try? ConfigurationFile.path(named: nil)
        let same = found.map { URL(filePath: $0).standardizedFileURL.resolvingSymlinksInPath().path } == file
        let end = same ? "" : " --config \(OwnerEndpoints.quoted(file))"
        let kinds = configuration.plugins.filter(\.startsHere).map { ($0.name, $0.kind) }
        var next = isRunning ? [] : ["hub run\(end)"]
        for (name, kind) in kinds {
            switch kind {
            case "web": next.append("hub web\(end)")
            case "exist", "sami": next.append("hub login \(name)\(end)")
            case "http-ingest": next.append("hub ingest new my-phone\(end)")
            default: break
            }
        }
        return next + (isRunning ? ["hub status\(end)"] : ["hub service install\(end)"])
    }
}
