/// Parses the hub's reason for not assigning a weight: `71.9 kg: anna 62 %, ben 31 %, somebody else 7 %`.
package struct WeightOddsText: Sendable {
    /// The probabilities by name, as printed in the reason: `62 %`, `over 99 %`.
    package private(set) var shares: [String: String] = [:]
    private var order: [String] = []
    /// Persons whose weight the hub does not know yet, so that it cannot rule them out.
    private var unknown: Set<String> = []

    /// Ask for confirmation if a person has less than this many percent.
    private static let unlikely = 5

    package init(_ reason: String) {
        guard let start = reason.firstRange(of: ": ")?.upperBound else { return }
        for part in reason[start...].split(separator: ", ") {
            guard let match = part.wholeMatch(of: /(.+?)( \([^)]*\))? ((?:over )?\d{1,2} %)/) else { continue }
            shares[String(match.1)] = String(match.3)
            order.append(String(match.1))
            if match.2 != nil { unknown.insert(String(match.1)) }
        }
    }

    /// The rank of a person among the candidates.
    package func rank(of name: String) -> Int { order.firstIndex(of: name) ?? order.count }

    /// The odds without the weight, which is shown beside them: `Anna 62 %, Ben 31 %, somebody else 7 %`; `nil` if the reason has none.
    ///
    /// - Parameter shownName: the display name for a person's id.
    package func text(_ shownName: (String) -> String) -> String? {
        guard !order.isEmpty else { return nil }
        return order.map { name in
            let note = unknown.contains(name) ? " (whose weight is not known yet)" : ""
            return "\(shownName(name))\(note) \(shares[name] ?? "")"
        }.joined(separator: ", ")
    }

    /// Why the person should confirm that the weight is `name`'s; `nil` if the odds support it or are unknown.
    ///
    /// - Parameter shownName: the display name for a person's id.
    package func doubt(about name: String, _ shownName: (String) -> String = { $0 }) -> String? {
        guard let first = order.first, first != name, !unknown.contains(name) else { return nil }
        let percent = shares[name].flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
        guard percent < WeightOddsText.unlikely else { return nil }
        let (likely, chosen) = (shownName(first), shownName(name))
        return
            "by its weight it is \(likely)'s (\(shares[first] ?? "")), and hardly \(chosen)'s (\(shares[name] ?? "under 1 %"))"
    }
}
