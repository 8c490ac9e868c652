import Samples

extension SampleKind {
    /// The column `kind`.
    var code: Int {
        switch self {
        case .quantity: 0
        case .category: 1
        case .correlation: 2
        case .workout: 3
        case .characteristic: 4
        case .other: 5
        }
    }

    private static let coded = allCases.sorted { $0.code < $1.code }

    /// The kind that the column says; `nil` for a number that none has.
    init?(code: Int64?) {
        guard let code, (0..<Int64(SampleKind.coded.count)).contains(code) else { return nil }
        self = SampleKind.coded[Int(code)]
    }
}

extension RecordKind {
    /// The code of a sample's kind, `VersionFacts.day` of a day; a retraction has that of what it takes back.
    var code: Int? { self == .day ? VersionFacts.day : SampleKind(rawValue: rawValue)?.code }
}

/// A selection of kinds as a condition of SQL.
extension KindSelection {
    /// Which rows of `sample` are selected; `nil` when none can be.
    var sampleRows: String? {
        let (standing, takenBack) = (condition(standing), condition(takenBack))
        if standing == takenBack { return standing }
        let parts = [
            standing.map { "retracted IS NULL AND \($0)" }, takenBack.map { "retracted IS NOT NULL AND \($0)" },
        ]
        return "(\(parts.compactMap(\.self).joined(separator: " OR ")))"
    }

    /// Which rows of `day` are selected; `nil` when none can be.
    var dayRows: String? {
        switch (standing.contains(.day), takenBack.contains(.day)) {
        case (true, true): "1"
        case (true, false): "retracted IS NULL"
        case (false, true): "retracted IS NOT NULL"
        case (false, false): nil
        }
    }

    private func condition(_ kinds: Set<RecordKind>) -> String? {
        if kinds.isSuperset(of: RecordKind.samples) { return "1" }
        return kinds.isDisjoint(with: RecordKind.samples) ? nil : "kind IN (\(KindSelection.list(kinds)))"
    }

    /// The samples among the kinds, as the column has them.
    static func list(_ kinds: Set<RecordKind>) -> String {
        kinds.intersection(RecordKind.samples).compactMap(\.code).sorted().map(String.init).joined(separator: ", ")
    }
}
