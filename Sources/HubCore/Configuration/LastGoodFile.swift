import Files
import FoundationEssentials

/// The text of the `hub.conf` with which all plugins were last well: `hub.conf.good` in the data directory, mode 0600.
///
/// A copy: secrets that the file takes from elsewhere stay references.
struct LastGoodFile: Sendable {
    let path: String

    init(data: String) { path = "\(data)/hub.conf.good" }

    func read() -> String? { FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } }

    /// All or nothing: a power cut leaves the old text or the new.
    func write(_ text: String) throws(HubError) {
        do throws(FileError) { try PrivateFile.write(Array(text.utf8), to: path) } catch {
            throw HubError(.store, error.description)
        }
    }
}
