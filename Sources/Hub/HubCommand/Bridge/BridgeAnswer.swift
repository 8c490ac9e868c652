import HubWire
import JSON
import PluginKit
import Samples

/// The answer to a line of the program, as a line.
enum BridgeAnswer {
    static func result(_ result: RecordResult, of record: BridgeRecord) -> JSONTree {
        self.result(result, line: record.line, item: record.item, key: record.key)
    }

    /// - Parameter line: nil for a record that an earlier process was given.
    static func result(_ result: RecordResult, line: Int?, item: Int? = nil, key: String?) -> JSONTree {
        let place = Self.place(line, item, key)
        switch result {
        case .stored(let number, let sequence): return .object(place + Self.stored("stored", number, sequence))
        case .duplicate(let number, let sequence): return .object(place + Self.stored("duplicate", number, sequence))
        case .rejected(let code, let reason):
            return .object(
                place + [
                    .init("result", "rejected"), .init("code", .text(code.rawValue)), .init("reason", .text(reason)),
                ])
        }
    }

    /// A record that the hub refused; the answer contains the record because its line is not known any more.
    static func refused(_ record: RefusedRecord) -> JSONTree {
        let result = RecordResult.rejected(.init(received: record.code), reason: record.reason)
        let answer = self.result(result, line: nil, key: BridgeRecord.key(of: record.bytes))
        guard case .object(let members) = answer, let whole = JSONTree(record.bytes) else { return answer }
        return .object(members + [.init("record", whole)])
    }

    /// The answer to a line, or a record of a line, that could not be given to the hub.
    static func fault(_ reason: String, line: Int, item: Int? = nil, key: String? = nil) -> JSONTree {
        .object(place(line, item, key) + [.init("result", "error"), .init("reason", .text(reason))])
    }

    private static func place(_ line: Int?, _ item: Int?, _ key: String?) -> [JSONTree.Member] {
        var members: [JSONTree.Member] = []
        if let line { members.append(.init("line", JSONTree(line))) }
        if let item { members.append(.init("item", JSONTree(item))) }
        if let key { members.append(.init("key", .text(key))) }
        return members
    }

    private static func stored(_ word: String, _ number: Int64, _ sequence: Int64) -> [JSONTree.Member] {
        [.init("result", .text(word)), .init("number", .whole(number)), .init("seq", .whole(sequence))]
    }
}
