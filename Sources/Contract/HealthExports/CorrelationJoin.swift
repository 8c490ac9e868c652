public import Samples

/// Adds the members of a correlation to it, for formats that write both as one object.
///
/// Most members start at the same time as their correlation and are in the same run. Others are looked up by their group.
public struct CorrelationJoin {
    /// Returns the records of a group of one plugin.
    public typealias Lookup = (_ group: String, _ plugin: String) throws -> [StoredRecord]

    /// The requested correlations.
    ///
    /// A member of one of these is written with its correlation and not separately.
    private let types: Set<TypeID>
    private let keepsMembers: Bool
    private let lookup: Lookup

    /// - Parameters:
    ///   - asked: the requested types; `nil` for all.
    ///   - keepsMembers: whether members are also written separately, as in the exports of Apple Health.
    public init(asked: [String]?, keepsMembers: Bool, lookup: @escaping Lookup) {
        let all = TypeRegistry.standard.all.filter { $0.kind == .correlation }.map(\.id)
        types = Set(all.filter { asked?.contains($0.rawValue) ?? true })
        (self.keepsMembers, self.lookup) = (keepsMembers, lookup)
    }

    /// The requested types and the types of the members that their correlations need.
    public static func completed(_ asked: [String]) -> [String] {
        let registry = TypeRegistry.standard
        let members = asked.compactMap(registry.resolve).flatMap(\.requiredMembers).map(\.rawValue)
        return asked + members.filter { !asked.contains($0) }
    }

    /// The records of one start time, each correlation with its members.
    public func joined(_ run: [ExportItem]) throws -> [ExportItem] {
        var result: [ExportItem] = []
        for var item in run {
            guard case .sample(let sample) = item.record.record, let group = sample.group else {
                result.append(item)
                continue
            }
            if case .correlation = sample.value {
                guard types.contains(sample.type) else { continue }
                item.members = try members(of: item.record, sample, group, run)
                result.append(item)
            } else if try keepsMembers || !isMember(item.record, sample, group, run) {
                result.append(item)
            }
        }
        return result
    }

    private func members(
        of correlation: StoredRecord, _ sample: Sample, _ group: String, _ run: [ExportItem]
    ) throws -> [StoredRecord] {
        let needed = TypeRegistry.standard.type(sample.type)?.requiredMembers ?? []
        func fitting(_ records: [StoredRecord]) -> [StoredRecord] {
            records.filter {
                CorrelationJoin.belongs($0, to: correlation, group) && (needed.isEmpty || needed.contains($0.type))
            }
        }
        let beside = fitting(run.map(\.record))
        let isComplete = !needed.isEmpty && Set(needed).isSubset(of: beside.map(\.type))
        return isComplete ? beside : fitting(try lookup(group, sample.source.plugin))
    }

    /// Whether the record is written with a correlation.
    ///
    /// The correlation may have another start time.
    private func isMember(
        _ record: StoredRecord, _ sample: Sample, _ group: String, _ run: [ExportItem]
    ) throws -> Bool {
        guard !types.isEmpty, CorrelationJoin.possibleMembers.contains(sample.type) else { return false }
        func isOwner(_ other: StoredRecord) -> Bool {
            guard case .sample(let owner) = other.record, case .correlation = owner.value, types.contains(owner.type),
                CorrelationJoin.belongs(record, to: other, group)
            else { return false }
            let needed = TypeRegistry.standard.type(owner.type)?.requiredMembers ?? []
            return needed.isEmpty || needed.contains(sample.type)
        }
        if run.contains(where: { isOwner($0.record) }) { return true }
        return try lookup(group, sample.source.plugin).contains(where: isOwner)
    }

    /// Only these types can be members.
    ///
    /// Most groups are weigh-ins and workouts, so this check saves most look-ups.
    private static let possibleMembers: Set<TypeID> = {
        let all = TypeRegistry.standard.all
        return Set(all.flatMap(\.requiredMembers) + all.map(\.id).filter { $0.rawValue.hasPrefix("dietary") })
    }()

    private static func belongs(_ record: StoredRecord, to correlation: StoredRecord, _ group: String) -> Bool {
        guard record.number != correlation.number, case .sample(let sample) = record.record, sample.group == group,
            sample.source.plugin == correlation.record.source.plugin
        else { return false }
        return record.assignment.person == correlation.assignment.person
    }
}
