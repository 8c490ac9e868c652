import Samples

extension SampleKind {
    /// The code in the column `kind`.
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

    /// The kind with this code; `nil` if there is none.
    init?(code: Int64?) {
        guard let code, (0..<Int64(SampleKind.coded.count)).contains(code) else { return nil }
        self = SampleKind.coded[Int(code)]
    }
}

extension RecordKind {
    /// The code of a sample's kind, or `VersionProperties.day` for a day.
    ///
    /// A retraction has the code of the record that it retracts.
    var code: Int? { self == .day ? VersionProperties.day : SampleKind(rawValue: rawValue)?.code }
}

/// A selection of kinds as an SQL condition.
extension KindSelection {
    /// The condition for the selected rows of `sample`; `nil` if none can be selected.
    var sampleRows: String? {
        let (standing, takenBack) = (condition(standing), condition(takenBack))
        if standing == takenBack { return standing }
        let parts = [
            standing.map { "retracted IS NULL AND \($0)" }, takenBack.map { "retracted IS NOT NULL AND \($0)" },
        ]
        return "(\(parts.compactMap(\.self).joined(separator: " OR ")))"
    }

    /// The condition for the selected rows of `day`; `nil` if none can be selected.
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

    /// The codes of the kinds that are samples, as an SQL list.
    static func list(_ kinds: Set<RecordKind>) -> String {
        kinds.intersection(RecordKind.samples).compactMap(\.code).sorted().map(String.init).joined(separator: ", ")
    }
}
