import Glibc
import HubSettings
import HubWire
import Logging
import Platform

/// Changes of `hub.conf` that the hub itself writes.
extension ConfigurationManager {
    /// Writes an edit into `hub.conf` and applies it; does not write a file that the hub would not apply.
    ///
    /// - Parameter revision: the revision of the file that the asker knows; a file with another revision is not changed.
    /// - Throws: `OwnCommandFailure`: `changed` if the file has another text than the asker or the hub knows, `file` if it cannot be
    ///   written, and those of ``apply(isDryRun:)`` and ``ConfigurationEdit``; `CancellationError` before anything is written.
    func configure(_ edit: ConfigurationEdit, at revision: String?, isDryRun: Bool) async throws -> ConfigureReport {
        guard let reload else { throw OwnCommandFailure("unsupported", "this hub was started without a hub.conf") }
        try await enterRequestedChange()
        defer { leaveRequestedChange() }
        let text = try current(revision)
        var declarations = edit.section.declarations
        let instance = edit.section.plugin
        if let instance {
            var manifest = checked.manifests[instance]
            if manifest == nil { manifest = await reload(text).manifests[instance] }
            declarations = manifest?.settings
        }
        try edit.judge(declarations, isConfined: instance.flatMap { checked.loaded.confinements[$0]?.isOn } ?? true)
        let (changed, changes) = try edit.apply(
            to: text, declarations ?? [], known: configuration.plugins.map(\.name) + checked.loaded.refusedInstances)
        // An edit that changes nothing of a person or `[hub]` needs no answer of a program.
        let wanted = changed == text && instance == nil ? checked : await reload(changed)
        try Task.checkCancellation()
        if let instance, wanted.manifests[instance]?.settings != declarations {
            throw OwnCommandFailure(
                "changed", "the program of \(instance) declares other settings now; run hub apply, then try again")
        }
        if let instance, edit.enabled == true, let reason = wanted.faults[instance] {
            throw OwnCommandFailure("absent", "\(instance) cannot run, so it stays as it is: \(reason)")
        }
        let isWriting = !isDryRun && changed != text
        var plan = try await follow(wanted, isDryRun: true)
        if isWriting, plan.applied {
            try replace(text, with: changed)
            do throws(OwnCommandFailure) { plan = try await follow(wanted, isDryRun: false) } catch {
                throw takeBack(changed, to: text, after: error)
            }
            parts.logger.notice(
                "hub.conf was changed",
                metadata: [
                    "section": "\(edit.section.table.joined(separator: "."))",
                    "settings": "\(changes.map(\.name).joined(separator: ", "))", "by": "\(edit.asker ?? "the owner")",
                ])
        }
        plan.dryRun = isDryRun
        if changed == text { plan.instances = [] }
        let now = isWriting && plan.applied ? changed : text
        var report = ConfigureReport(
            instance: instance, dryRun: isDryRun, changes: changes, revision: mark(now), plan: plan)
        (report.person, report.hub) = (edit.section.person, edit.section == .hub ? true : nil)
        report.added = edit.section.isThere(in: changed) && !edit.section.isThere(in: text) ? true : nil
        report.settings = edit.section.settings(in: now)
        return report
    }

    /// - Returns: why the hub did not apply the file, and whether the file still contains the change because it could not be written back.
    private func takeBack(_ changed: String, to text: String, after failure: OwnCommandFailure) -> OwnCommandFailure {
        do throws(OwnCommandFailure) { try replace(changed, with: text) } catch {
            parts.logger.error(
                "hub.conf has a change that the hub has not applied, and it cannot be undone",
                metadata: ["reason": "\(error.reason)"])
            return OwnCommandFailure(
                failure.code,
                "\(failure.reason); hub.conf still has the change, because it cannot be undone: \(error.reason)")
        }
        return failure
    }

    /// The text of the file; it must be the text that the hub has applied and the asker knows.
    private func current(_ revision: String?) throws(OwnCommandFailure) -> String {
        let bytes: [UInt8]?
        do throws(FileError) {
            bytes = try PrivateFile.read(checked.file, upTo: ConfigurationEditor.maximumBytes)
        } catch { throw OwnCommandFailure("file", "hub.conf: \(error.description)") }
        guard let bytes, let followed = checked.text, followed.utf8.elementsEqual(bytes) else {
            throw OwnCommandFailure(
                "changed", "hub.conf has changes that the hub has not applied yet: run hub apply first, or undo them")
        }
        guard revision == nil || revision == mark(followed) else {
            throw OwnCommandFailure("changed", "hub.conf was changed meanwhile; look at it again, then try again")
        }
        return followed
    }

    /// A mark that identifies a text and reveals nothing about it.
    private func mark(_ text: String) -> String {
        String(Digests.sha256(revisionKey + Array(text.utf8)).hexadecimal.prefix(32))
    }

    private func replace(_ old: String, with text: String) throws(OwnCommandFailure) {
        let isWritten: Bool
        do throws(FileError) {
            isWritten = try PrivateFile.replace(old.utf8, with: text.utf8, in: checked.file)
        } catch {
            throw OwnCommandFailure("file", error.description)
        }
        guard isWritten else { throw OwnCommandFailure("changed", "hub.conf was changed meanwhile; try again") }
    }
}
