/// Reads the generated tables: a line per entry, fields between tabs, lists between bars.
///
/// An unreadable table is a bug in the generator. The tests find it, so it stops the program.
enum TableReader {
    /// The fields of each line.
    static func lines(of table: StaticString) -> [[String]] {
        table.withUTF8Buffer { bytes in
            bytes.split(separator: UInt8(ascii: "\n")).map { line in
                line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map {
                    String(decoding: $0, as: UTF8.self)
                }
            }
        }
    }

    /// The entries of a list field.
    static func list(_ field: String, separator: Character = "|") -> [String] {
        field.isEmpty ? [] : field.utf8.split(separator: separator.asciiValue ?? 0).map { String(Substring($0)) }
    }

    /// A field that may be empty.
    static func optional(_ field: String) -> String? { field.isEmpty ? nil : field }

    /// The values in a list of `raw=name=old=HealthKit names`.
    static func values(_ field: String) -> [CategoryValue] {
        list(field).map { entry in
            let parts = entry.utf8.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
                .map { String(Substring($0)) }
            precondition(parts.count == 4, "a value in the generated tables is malformed: \(entry)")
            return CategoryValue(
                raw: Int(parts[0]), name: parts[1], isOldName: parts[2] == "old",
                healthKitNames: list(parts[3], separator: ","))
        }
    }

    /// The built-in types.
    static func types() -> [HealthType] { lines(of: typeTable).map(type) }

    private static func type(_ fields: [String]) -> HealthType {
        precondition(fields.count == 24, "a line of the generated type table is malformed: \(fields)")
        guard let kind = SampleKind(rawValue: fields[1]) else {
            preconditionFailure("the generated type table has an unknown kind: \(fields[1])")
        }
        let unit = optional(fields[2])
        let healthUnit: HealthUnit?
        do throws(UnitError) {
            healthUnit = if let unit { try HealthUnit(unit) } else { nil }
        } catch {
            preconditionFailure("the generated type table has a bad unit: \(error)")
        }
        return HealthType(
            id: TypeID(known: fields[0]), kind: kind, unit: unit, healthUnit: healthUnit,
            dimension: optional(fields[3]), aggregation: AggregationStyle(rawValue: fields[4]),
            values: values(fields[5]), displayName: fields[6], group: optional(fields[7]),
            aliases: HealthType.Aliases(
                healthKit: list(fields[8]), names: list(fields[9]), openMHealth: list(fields[10]),
                loinc: list(fields[11]), healthConnect: list(fields[14]), ucum: optional(fields[12]),
                fhirUCUM: optional(fields[13])),
            typicalDisplayUnits: list(fields[15]), appMayWrite: HealthType.WritePermission(rawValue: fields[16]),
            requiredMembers: list(fields[17]).map(TypeID.init(known:)), origin: HealthType.Origin(rawValue: fields[18]),
            everydayNames: list(fields[19]),
            limits: kind == .quantity
                ? HealthLimits(
                    possible: range(fields[20], fields[21]), plausible: range(fields[22], fields[23])) : nil)
    }

    /// A range; an empty field leaves that end open.
    private static func range(_ least: String, _ most: String) -> ClosedRange<Double> {
        guard let low = least.isEmpty ? -Double.infinity : Double(least),
            let high = most.isEmpty ? Double.infinity : Double(most)
        else { preconditionFailure("a limit of the generated type table is not a number: \(least), \(most)") }
        return low...high
    }
}
