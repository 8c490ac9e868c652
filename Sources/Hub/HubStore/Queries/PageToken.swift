import Samples

/// The end of a page, as text that only the same query on the same store accepts: `epoch.head.key.number.check`.
///
/// If records are sorted by two keys, the second key comes before the number. The check is not a secret. It detects mistakes, and a forged token
/// gives access to nothing, because grants are part of the query.
struct PageToken: Hashable {
    var epoch: String
    /// The head when the first page was read.
    var head: Int64
    /// The last record's sort key: its sequence number or start.
    var key: Int64
    /// The last record's second sort key, if any.
    var second: Int64?
    var number: Int64

    /// A bound for keys and numbers, so that arithmetic on values sent by a client cannot overflow.
    static let bound: Int64 = 1 << 61

    func text(for query: RecordQuery) -> String { "\(body).\(String(check(query), radix: 36))" }

    /// Reads a token issued for `query`; `nil` for any other text.
    init?(_ text: String, for query: RecordQuery) {
        let parts = text.utf8.count <= 140 ? text.split(separator: ".", omittingEmptySubsequences: false) : []
        guard (5...6).contains(parts.count) else { return nil }
        let places = parts[1..<(parts.count - 1)].compactMap { part in
            Int64(part).flatMap { (-PageToken.bound...PageToken.bound).contains($0) ? $0 : nil }
        }
        guard places.count == parts.count - 2 else { return nil }
        self.init(
            epoch: String(parts[0]), head: places[0], key: places[1], second: places.count == 4 ? places[2] : nil,
            number: places[places.count - 1])
        guard self.text(for: query) == text else { return nil }
    }

    init(epoch: String, head: Int64, key: Int64, second: Int64? = nil, number: Int64) {
        (self.epoch, self.head, self.key, self.second, self.number) = (epoch, head, key, second, number)
    }

    private var body: String { "\(epoch).\(head).\(key).\(second.map { "\($0)." } ?? "")\(number)" }

    var sorted: SortPosition { SortPosition(first: key, second: second ?? 0, number: number) }

    /// FNV-1a over the token and all of the query except its page size.
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
        add(["\(query.order)", "\(query.strictStart)", "\(query.strictEnd)"])
        add(query.from.map { ["\($0) \(query.fromOffset)"] })
        add(query.to.map { ["\($0) \(query.toOffset)"] })
        if query.isImplausible { add(["implausible"]) }
        if let isGuest = query.isGuest { add(["guest \(isGuest)"]) }
        add(query.group.map { [$0] })
        add(query.numbers?.map(String.init))
        add(query.since.map { [$0.description] })
        if let condition = query.condition { add([condition.text]) }
        if let allowance = query.allowance, !allowance.types.isAll {
            add(allowance.types.only?.map(\.rawValue))
            add(allowance.types.except.map(\.rawValue))
            add(allowance.own.map { [$0] })
        }
        return hash
    }
}
