import HandEntries
import HubClient

extension Failure {
    /// What was typed wrong, as a command says it: by the name of its option.
    init(_ fault: HandFault) {
        self.init(
            fault.kind == .answer ? .dialogue : .usage, (fault.field.map { "--\($0): " } ?? "") + fault.message)
    }

    /// Reads what was typed.
    static func ofHand<Value>(_ read: () throws(HandFault) -> Value) throws(Failure) -> Value {
        do { return try read() } catch { throw Failure(error) }
    }
}
