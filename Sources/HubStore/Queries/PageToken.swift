import Samples

/// Where a page ended, as text that only the same query of the same store accepts: `epoch.head.key.number.check`.
///
/// The check is not a secret. It finds mistakes, and a forged token gives access to nothing: grants are part of the query.
struct PageToken: Hashable {
    var epoch: String
    /// The head at the first page.
    var head: Int64
    /// The last record's sort key: its sequence or start.
    var key: Int64
    var number: Int64

    func text(for query: RecordQuery) -> String { "\(body).\(String(check(query), radix: 36))" }

    /// Reads a token that was given out for `query`; `nil` for any other text.
    init?(_ text: String, for query: RecordQuery) {
        let parts = text.utf8.count <= 120 ? text.split(separator: ".", omittingEmptySubsequences: false) : []
        guard parts.count == 5, let head = Int64(parts[1]), let key = Int64(parts[2]), let number = Int64(parts[3])
        else { return nil }
        self.init(epoch: String(parts[0]), head: head, key: key, number: number)
        guard self.text(for: query) == text else { return nil }
    }

    init(epoch: String, head: Int64, key: Int64, number: Int64) {
        self.epoch = epoch
        self.head = head
        self.key = key
        self.number = number
    }

    private var body: String { "\(epoch).\(head).\(key).\(number)" }

    /// FNV-1a over the token and everything the query asks but its page size.
    private func check(_ query: RecordQuery) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ texts: [String]?) {
            for byte in (texts.map { "[" + $0.sorted().joined(separator: "\u{0}") + "]" } ?? "-").utf8 {
                hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
            }
        }
        add([body])
        add(query.types?.map(\.rawValue))
        add(
            query.persons?.map { whose in
                switch whose {
                case .person(let person): "=" + person
                case .nobody: "-"
                }
            })
        add(query.sources.map(Array.init))
        add(query.kinds?.standing.map(\.rawValue))
        add(query.kinds?.takenBack.map(\.rawValue))
        add([query.order.rawValue, "\(query.strictStart)", "\(query.strictEnd)"])
        add(query.from.map { [String($0)] })
        add(query.to.map { [String($0)] })
        if query.isImplausible { add(["implausible"]) }
        add(query.group.map { [$0] })
        add(query.numbers?.map(String.init))
        add(query.since.map { [$0.description] })
        if let condition = query.condition { add([condition.text]) }
        return hash
    }
}
