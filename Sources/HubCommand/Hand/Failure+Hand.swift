import HandEntries
import HubClient

extension Failure {
    /// What was typed wrong, as a command says it: by the names of its options.
    init(_ fault: HandFault) {
        let remedy = fault.remedy.map { "--\($0)" }.joined(separator: ", ")
        self.init(
            fault.kind == .answer ? .dialogue : .usage,
            (fault.field.map { "--\($0): " } ?? "") + fault.message + (remedy.isEmpty ? "" : " (\(remedy))"))
    }

    /// Reads what was typed.
    static func ofHand<Value>(_ read: () throws(HandFault) -> Value) throws(Failure) -> Value {
        do { return try read() } catch { throw Failure(error) }
    }
}
