import Foundation
package import HubSettings
import HubWire
import Platform

/// `hub.conf` as a file: its path, its text, and its replacement.
package enum ConfigurationFile {
    /// The path of the file that is in effect.
    ///
    /// - Parameter named: the value of `--config`.
    /// - Throws: ``HubExit/noConfiguration``, with all places that were searched.
    package static func path(
        named: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Failure) -> String {
        if let named {
            if let fault = fault(named) { throw Failure(.noConfiguration, "--config \(named): \(fault)") }
            return named
        }
        if let path = environment["HUB_CONF"], !path.isEmpty {
            if let fault = fault(path) { throw Failure(.noConfiguration, "HUB_CONF=\(path): \(fault)") }
            return path
        }
        let places = places(environment)
        guard let path = places.first(where: { fault($0) == nil }) else {
            throw Failure(
                .noConfiguration,
                "there is no hub.conf; looked for \(places.joined(separator: ", ")); hub setup makes one, "
                    + "--config FILE names one, hub demo shows a hub at work")
        }
        return path
    }

    package static func places(_ environment: [String: String]) -> [String] {
        var folders: [String] = []
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            folders.append(folder)
        } else if let home = environment["HOME"], !home.isEmpty {
            folders.append(home + "/.config")
        }
        return ["hub.conf"] + folders.map { $0 + "/health-hub/hub.conf" } + ["/etc/health-hub/hub.conf"]
    }

    /// Why no file can be read at `path`; nil if one can.
    private static func fault(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT ? "there is no such file; hub setup writes one" : String(cString: strerror(errno))
        }
        return status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : nil
    }

    /// The text of the file.
    package static func text(_ path: String) throws(Failure) -> String {
        let bytes: Data
        do { bytes = try SettingsEnvironment.process().readFile(path) } catch {
            throw Failure(.noConfiguration, "\(path): cannot be read: \(error)")
        }
        guard let text = String(data: bytes, encoding: .utf8) else {
            throw Failure(.noConfiguration, "\(path): cannot be read: it is not UTF-8 text")
        }
        return text
    }

    /// Replaces the file with another text, whole or not at all; mode and owner stay.
    ///
    /// - Throws: ``HubExit/tryAgain`` if the file no longer has the text that was read; ``HubExit/system``.
    package static func replace(_ old: String, with text: String, in path: String) throws(Failure) {
        let isWritten: Bool
        do throws(FileError) { isWritten = try PrivateFile.replace(old.utf8, with: text.utf8, in: path) } catch {
            throw Failure(.system, error.description)
        }
        guard isWritten else { throw changed(path) }
    }

    /// Runs `body` under the lock of the file, if the file has this text.
    ///
    /// - Throws: as ``replace(_:with:in:)``, and errors of `body`.
    package static func hold(_ text: String, in path: String, _ body: () throws -> Void) throws {
        let outcome: Result<Void, any Error>?
        do throws(FileError) {
            outcome = try PrivateFile.whileUnchanged(text.utf8, in: path) { _, _ in Result { try body() } }
        } catch {
            throw Failure(.system, error.description)
        }
        guard let outcome else { throw changed(path) }
        try outcome.get()
    }

    private static func changed(_ path: String) -> Failure {
        Failure(.tryAgain, "\(path) was changed meanwhile; try again")
    }

    /// The editor of a text of the file.
    package static func editor(_ text: String, of path: String) throws(Failure) -> ConfigurationEditor {
        do throws(ConfigurationEditor.EditError) { return try ConfigurationEditor(text) } catch {
            throw Failure(error, path)
        }
    }
}

extension Failure {
    /// A change of the text of `hub.conf` that would lose something.
    package init(_ refusal: ConfigurationEditor.EditError, _ path: String) {
        self.init(.badConfiguration, refusal.text(in: path))
    }
}

extension ConfigurationEditor {
    /// Makes changes; a refusal becomes a failure that names the file.
    package mutating func edit(_ path: String, _ change: (inout Self) throws -> Void) throws(Failure) {
        do { try change(&self) } catch let refusal as ConfigurationEditor.EditError {
            throw Failure(refusal, path)
        } catch { throw Failure(.badConfiguration, "\(path): \(error)") }
    }
}
