import Platform

/// Replaces the text of an existing `hub.conf`, for every program that changes it: whole or not at all; mode and owner stay.
///
/// A change is computed from a text and checked. It is written, under the lock of the file, only if the file still has that text. So no change
/// of another program is lost, and the written text is the one that was checked.
public enum ConfigurationWriter {
    /// Why nothing was written.
    public enum Fault: Error, Hashable {
        /// The file has another text than the change was made for, or another program is changing it.
        case changed
        /// The system refuses; the reason names the file.
        case impossible(String)
    }

    /// Writes a new text if the file has the old one.
    public static func replace(_ old: String, with text: String, in path: String) throws(Fault) {
        let isWritten: Bool
        do throws(FileError) { isWritten = try PrivateFile.replace(old.utf8, with: text.utf8, in: path) } catch {
            throw .impossible(error.description)
        }
        guard isWritten else { throw .changed }
    }

    /// Runs `body` under the lock of the file if the file has this text, so that no other program changes it meanwhile.
    ///
    /// - Throws: ``Fault``, and errors of `body`.
    public static func hold(_ text: String, in path: String, _ body: () throws -> Void) throws {
        let outcome: Result<Void, any Error>?
        do throws(FileError) {
            outcome = try PrivateFile.whileUnchanged(text.utf8, in: path) { _, _ in Result { try body() } }
        } catch {
            throw Fault.impossible(error.description)
        }
        guard let outcome else { throw Fault.changed }
        try outcome.get()
    }
}
