import HealthText
import HubClient

extension Failure {
    /// The failure for a typing mistake, with the names of the command's options.
    init(_ fault: EntryError) {
        let remedy = fault.remedy.map { "--\($0)" }.joined(separator: ", ")
        self.init(
            .usage, (fault.field.map { "--\($0): " } ?? "") + fault.message + (remedy.isEmpty ? "" : " (\(remedy))"))
    }

    /// Reads typed values.
    static func entryValue<Value>(_ read: () throws(EntryError) -> Value) throws(Failure) -> Value {
        do { return try read() } catch { throw Failure(error) }
    }
}
