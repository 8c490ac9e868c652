import HubWire
import Samples

/// Whether the correlations of a batch have the members that their type always has: of a blood pressure one systolic and one
/// diastolic value.
struct CorrelationCheck {
    private let registry: TypeRegistry

    init(_ registry: TypeRegistry) { self.registry = registry }

    /// What is wrong with which record of a batch, by its place.
    func faults(of records: [Result<Record, RecordRejection>]) -> [Int: RecordRejection] {
        var correlations: [(place: Int, sample: Sample, required: [TypeID])] = []
        for (place, result) in records.enumerated() {
            guard case .success(.sample(let sample)) = result, case .correlation = sample.value,
                let required = registry.type(sample.type)?.requiredMembers, !required.isEmpty
            else { continue }
            correlations.append((place, sample, required))
        }
        guard !correlations.isEmpty else { return [:] }
        var members: [String: [TypeID]] = [:]
        for case .success(.sample(let sample)) in records {
            if let group = sample.group { members[group, default: []].append(sample.type) }
        }
        var faults: [Int: RecordRejection] = [:]
        for (place, sample, required) in correlations {
            let found = sample.group.flatMap { members[$0] } ?? []
            guard found.sorted() != (required + [sample.type]).sorted() else { continue }
            let names = required.map(\.rawValue).joined(separator: " and one ")
            faults[place] = RecordRejection(
                .group,
                "group: a \(sample.type) comes in one batch and one group with one \(names), and nothing else; send the group whole",
                group: sample.group)
        }
        return faults
    }
}
