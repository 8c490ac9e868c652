import HubWire
import Samples

/// Checks that the correlations of a batch have their members: a blood pressure one systolic and one diastolic value, a food its nutrients.
struct CorrelationCheck {
    private let registry: TypeRegistry

    init(_ registry: TypeRegistry) { self.registry = registry }

    /// The faults of a batch's records, by their places.
    func faults(of records: [Result<Record, RecordRejection>]) -> [Int: RecordRejection] {
        faults(
            of: records.enumerated().compactMap { place, result in
                guard case .success(.sample(let sample)) = result else { return nil }
                return (place, sample)
            })
    }

    func faults(of samples: [(place: Int, sample: Sample)]) -> [Int: RecordRejection] {
        let correlations = samples.filter { if case .correlation = $0.sample.value { true } else { false } }
        guard !correlations.isEmpty else { return [:] }
        var groups: [String: [TypeID]] = [:]
        for (_, sample) in samples {
            if let group = sample.group { groups[group, default: []].append(sample.type) }
        }
        var faults: [Int: RecordRejection] = [:]
        for (place, sample) in correlations {
            var members = sample.group.flatMap { groups[$0] } ?? []
            if let itself = members.firstIndex(of: sample.type) { members.remove(at: itself) }
            guard let wanted = missing(of: sample.type, among: members) else { continue }
            faults[place] = RecordRejection(
                .group, "group: a \(sample.type) comes in one batch and one group with \(wanted); send the group whole",
                group: sample.group)
        }
        return faults
    }

    /// The members that the type requires; `nil` if `members` are right.
    private func missing(of type: TypeID, among members: [TypeID]) -> String? {
        let required = registry.type(type)?.requiredMembers ?? []
        if !required.isEmpty, members.sorted() != required.sorted() {
            return "one \(required.map(\.rawValue).joined(separator: " and one ")), and no other samples"
        }
        guard type == .food else { return nil }
        let isFood = !members.isEmpty && members.allSatisfy { registry.type($0)?.group == "nutrition" }
        return isFood
            ? nil : "one or more samples of nutrition, such as dietaryEnergyConsumed, and no others"
    }
}
