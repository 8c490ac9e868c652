import FoundationEssentials
import Platform

/// The text of the last `hub.conf` with which all plugins were well: `hub.conf.good` in the data directory, mode 0600.
///
/// It is a literal copy: secrets that the file refers to stay references.
struct LastGoodFile: Sendable {
    let path: String

    init(data: String) { path = "\(data)/hub.conf.good" }

    func read() -> String? { FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } }

    /// Writes atomically: a power cut leaves either the old text or the new.
    func write(_ text: String) throws(HubError) {
        do throws(FileError) { try PrivateFile.write(Array(text.utf8), to: path) } catch {
            throw HubError(.store, error.description)
        }
    }
}
