import HubStore
import HubWire
import Samples

/// Converts `where` for the store: types to their ids, quantities to the types' own units, and values to their names.
struct ConditionNames {
    private let names: FilterNames
    /// The requested types that are in the registry; all types if none is requested.
    private let types: [HealthType]
    /// Whether a requested type is not in the registry.
    private let hasUnregistered: Bool

    /// - Parameter asked: `types` of the same filter.
    init(_ names: FilterNames, _ asked: Set<TypeID>?) {
        self.names = names
        let types = asked.map { asked in asked.sorted().compactMap(names.registry.type) } ?? names.registry.all
        (self.types, hasUnregistered) = (types, asked.map { $0.count > types.count } ?? false)
    }

    /// - Parameter path: the path of the expression.
    func resolved(_ condition: QueryRequest.Condition, at path: String) throws(WireError) -> RecordCondition {
        switch condition {
        case .all(let parts): return .all(try all(parts, at: "\(path).and"))
        case .any(let parts): return .any(try all(parts, at: "\(path).or"))
        case .not(let part): return .not(try resolved(part, at: "\(path).not"))
        case .types(let types): return .types(try names.types(types, at: "\(path).type").sorted())
        case .numbers(let numbers): return .numbers(numbers)
        case .keys(let keys): return .keys(keys)
        case .properties(let facet, let matches):
            return facet.metadata.map { .properties($0, matches) } ?? .source(matches)
        case .time(let from, let to, let strict):
            return .time(from: from?.microseconds, to: to?.microseconds, strict: strict)
        case .userEntered(let truth): return truth ? .userEntered : .not(.userEntered)
        case .metadata(let name, let test):
            if case .measured(_, let unit) = test { _ = try self.unit(unit, at: "\(path).metadata.unit") }
            return .metadata(name, test)
        case .quantity(let comparisons, let unit): return try quantity(comparisons, unit, at: "\(path).quantity")
        case .category(let choices): return try category(choices, at: "\(path).category")
        case .activity(let choices): return .activity(try activities(choices, at: "\(path).activity"))
        case .duration(let comparisons, let unit):
            return .duration(try microseconds(comparisons, unit, at: "\(path).duration"))
        case .total(let type, let comparisons, let unit):
            return try total(type, comparisons, unit, at: "\(path).total")
        case .part(of: .correlation): return .partOf([.correlation])
        case .part(of: .workout): return .partOf([.workout])
        case .part(of: .record(let number)): return .partOfRecord(number)
        case .contains(let contained): return try contains(contained, at: "\(path).contains")
        }
    }

    private func all(_ parts: [QueryRequest.Condition], at path: String) throws(WireError) -> [RecordCondition] {
        var conditions: [RecordCondition] = []
        for (index, part) in parts.enumerated() { conditions.append(try resolved(part, at: "\(path)[\(index)]")) }
        return conditions
    }

    /// Each expression is interpreted only for its own type.
    private func contains(
        _ contained: [QueryRequest.Condition.Contained], at path: String
    ) throws(WireError) -> RecordCondition {
        var parts: [RecordCondition.Contained] = []
        for part in contained {
            let types = try names.types([part.type], at: path)
            guard let type = types.first else { continue }
            let condition = try ConditionNames(names, types).resolved(part.condition, at: "\(path).\(part.type)")
            parts.append(RecordCondition.Contained(type, condition))
        }
        return .contains(parts)
    }

    // MARK: - Quantities

    private static func fault(_ path: String, _ reason: String) -> WireError {
        WireError(.field, "\(path): \(reason)", closed: false)
    }

    private func unit(_ text: String, at path: String) throws(WireError) -> HealthUnit {
        do throws(UnitError) { return try HealthUnit(text) } catch { throw Self.fault(path, "\(error)") }
    }

    /// Converts a quantity to the unit of each compatible type, exactly as a record of the type is converted.
    private func quantity(
        _ comparisons: [Comparison<Double>], _ unit: String, at path: String
    ) throws(WireError) -> RecordCondition {
        let quantities = types.filter { $0.kind == .quantity }
        var measures: [RecordCondition.Measure] = []
        for type in quantities {
            guard let own = try self.comparisons(comparisons, of: type, unit, at: path) else { continue }
            measures.append(RecordCondition.Measure(type.id, own))
        }
        guard !measures.isEmpty || hasUnregistered else {
            let shown = quantities.prefix(5).map { "\($0.id) is in \($0.unit ?? "")" }.joined(separator: ", ")
            let fitting = names.registry.all.count == types.count ? "" : ": \(shown)"
            throw Self.fault(
                "\(path).unit",
                quantities.isEmpty
                    ? "none of the asked types is a quantity" : "\(Self.shown(unit)) fits none of the types\(fitting)")
        }
        return .quantity(measures, unit: unit, comparisons)
    }

    /// `nil` if the unit measures another dimension than the type.
    private func comparisons(
        _ comparisons: [Comparison<Double>], of type: HealthType, _ unit: String, at path: String
    ) throws(WireError) -> [Comparison<Double>]? {
        do throws(UnitError) {
            var own: [Comparison<Double>] = []
            for comparison in comparisons {
                guard let value = try type.canonicalValue(comparison.value, unit: unit) else { return nil }
                own.append(Comparison(comparison.relation, value))
            }
            return own
        } catch {
            switch error.code {
            case .incompatible: return nil
            case .valueOutOfRange:
                throw Self.fault(
                    path, "a value is out of range when it is converted to \(type.unit ?? ""), as \(type.id) has it")
            default: throw Self.fault("\(path).unit", "\(error)")
            }
        }
    }

    private func microseconds(
        _ comparisons: [Comparison<Double>], _ unit: String, at path: String
    ) throws(WireError) -> [Comparison<Double>] {
        let (own, second) = (try self.unit(unit, at: "\(path).unit"), try self.unit("s", at: path))
        var results: [Comparison<Double>] = []
        for comparison in comparisons {
            do throws(UnitError) {
                let seconds = try own.convert(comparison.value, to: second)
                results.append(Comparison(comparison.relation, seconds * 1_000_000))
            } catch {
                throw Self.fault(
                    path,
                    error.code == .incompatible ? "\(Self.shown(unit)) is not a unit of time, such as min" : "\(error)")
            }
        }
        return results
    }

    private func total(
        _ name: String, _ comparisons: [Comparison<Double>], _ unit: String, at path: String
    ) throws(WireError) -> RecordCondition {
        let id = try names.types([name], at: "\(path).type")
        guard let type = id.first.flatMap(names.registry.type), type.kind == .quantity else {
            throw Self.fault("\(path).type", "\(Self.shown(name)) is not a type of quantities, which have a total")
        }
        guard let own = try self.comparisons(comparisons, of: type, unit, at: path) else {
            throw Self.fault(
                "\(path).unit", "\(Self.shown(unit)) does not convert to \(type.unit ?? ""), as \(type.id) has it")
        }
        return .total(type.id, own)
    }

    // MARK: - Enumerations

    private func category(_ choices: [QueryRequest.Condition.Choice], at path: String) throws(WireError)
        -> RecordCondition
    {
        let categories = types.filter { $0.kind == .category }
        var (found, raws): ([String], [Int64]) = ([], [])
        for (index, choice) in choices.enumerated() {
            switch choice {
            case .name(let name):
                let values = categories.compactMap { $0.value(named: name)?.name }
                guard !values.isEmpty || hasUnregistered else {
                    throw Self.fault("\(path)[\(index)]", Self.noValue(Self.shown(name), name, of: categories))
                }
                found += values.isEmpty ? [name] : Set(values).sorted()
            case .raw(let raw):
                guard hasUnregistered || categories.contains(where: { $0.value(raw: Int(raw)) != nil }) else {
                    throw Self.fault("\(path)[\(index)]", Self.noValue("\(raw)", nil, of: categories))
                }
                raws.append(raw)
            }
        }
        return .category(names: found, raws: raws)
    }

    private static func noValue(_ shown: String, _ name: String?, of categories: [HealthType]) -> String {
        let names = categories.flatMap { $0.values.filter { !$0.isOldName }.map(\.name) }
        if let nearest = name.flatMap({ nearestName(to: $0, among: names) }) {
            return "no value \(shown) here; did you mean \"\(nearest)\"?"
        }
        guard categories.count == 1, let type = categories.first else {
            return "no value \(shown) in the asked types; name the category's type in types"
        }
        let all = type.values.filter { !$0.isOldName }.map { "\($0.name)\($0.raw.map { " (\($0))" } ?? "")" }
        return "no value \(shown) of \(type.id); it has \(all.joined(separator: ", "))"
    }

    private func activities(_ choices: [QueryRequest.Condition.Choice], at path: String) throws(WireError) -> [Int64] {
        var raws: [Int64] = []
        for (index, choice) in choices.enumerated() {
            let (activity, shown): (WorkoutActivity?, String) =
                switch choice {
                case .name(let name): (WorkoutActivity.activity(named: name), Self.shown(name))
                case .raw(let raw): (WorkoutActivity.activity(raw: Int(raw)), "\(raw)")
                }
            guard let activity else {
                var reason = "no activity \(shown)"
                if case .name(let name) = choice,
                    let nearest = nearestName(to: name, among: WorkoutActivity.all.map(\.name))
                {
                    reason += "; did you mean \"\(nearest)\"?"
                }
                throw Self.fault("\(path)[\(index)]", reason)
            }
            raws.append(Int64(activity.raw))
        }
        return raws
    }

    private static func shown(_ name: String) -> String { RawJSON.string(String(name.prefix(64))).text }
}
