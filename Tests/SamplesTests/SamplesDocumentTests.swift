import Foundation
import Testing

@testable import Samples

/// Checks that the statements of Docs/Samples.md are true.
@Suite struct SamplesDocumentTests {
    let text: String
    let registry = TypeRegistry.standard

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Docs/Samples.md")
        text = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
    }

    /// The lines of all blocks marked `json`, each of which is a record.
    var examples: [String] {
        text.components(separatedBy: "\n```json\n").dropFirst().flatMap { block in
            (block.components(separatedBy: "\n```").first ?? "").split(separator: "\n").map(String.init)
        }
    }

    /// The cells of all table rows that have `count` of them.
    func rows(of count: Int) -> [[String]] {
        text.split(separator: "\n").filter { $0.hasPrefix("|") && !$0.hasPrefix("|---") }.map { line in
            line.dropFirst().dropLast().split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }.filter { $0.count == count }
    }

    @Test func `every example is a record that a source may send`() throws {
        #expect(examples.count >= 12)
        var kinds: Set<SampleKind> = []
        for example in examples {
            #expect(JSONObject(example)?.text == example, "\(example)")
            let record = try #require(
                try JSONSerialization.jsonObject(with: Data(example.utf8)) as? [String: Any], "\(example)")
            for member in ["number", "seq", "personId", "unassigned", "original", "implausible"] {
                #expect(record[member] == nil)
            }
            let kind = record["kind"] as? String
            #expect((record["person"] != nil) == (kind == "day"), "\(example)")
            if kind == "day" {
                #expect(LocalDate(record["date"] as? String ?? "") != nil && record["series"] is String)
                #expect(LocalDate(record["observedOn"] as? String ?? "") != nil)
            } else {
                #expect(RecordKey(record["key"] as? String ?? "") != nil, "\(example)")
            }
            guard kind != "retraction" else { continue }
            let type = try #require(registry.type(try TypeID(record["type"] as? String ?? "")), "\(example)")
            if let value = record["value"] as? Double, type.kind == .quantity {
                #expect(try type.canonicalValue(value, unit: record["unit"] as? String ?? "") != nil)
            }
            guard kind != "day" else { continue }
            kinds.insert(type.kind)
            let start = try Timestamp(parsing: record["start"] as? String ?? "")
            if let end = record["end"] as? String {
                #expect(try Timestamp(parsing: end).microseconds >= start.microseconds)
            }
            switch type.kind {
            case .quantity: #expect(record["value"] is Double, "\(example)")
            case .category, .characteristic: #expect(type.value(named: record["value"] as? String ?? "") != nil)
            case .workout:
                #expect(
                    WorkoutActivity.activity(raw: record["raw"] as? Int ?? -1)
                        ?? WorkoutActivity.activity(named: record["value"] as? String ?? "") != nil)
            case .correlation:
                #expect(record["value"] == nil)
                #expect(type.requiredMembers.allSatisfy { id in examples.contains { $0.contains("\"\(id)\"") } })
            case .other: #expect(record["value"] is String?)
            }
        }
        #expect(kinds == Set(SampleKind.allCases), "each kind needs an example")
    }

    @Test func `every row of the type tables has the registry's unit and aggregation`() throws {
        let rows = rows(of: 3).filter { $0[0].hasPrefix("`") && AggregationStyle(rawValue: $0[2]) != nil }
        #expect(rows.count >= 25)
        for row in rows {
            let type = try #require(registry.type(try TypeID(row[0].filter { $0 != "`" })), "\(row)")
            #expect(type.unit == row[1].filter { $0 != "`" } && type.aggregation?.rawValue == row[2], "\(row)")
        }
    }

    @Test func `the table of limits equals the registry and has every type with limits other than zero and infinity`()
        throws
    {
        var named: Set<TypeID> = []
        func number(_ bound: Double) -> String {
            let text = bound.isFinite ? "\(bound)" : ""
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        func range(_ range: ClosedRange<Double>) -> String { "\(number(range.lowerBound))…\(number(range.upperBound))" }
        // Rows with a star come last, because a star covers only types that no other row names.
        let rows = rows(of: 5).filter { $0[0].hasPrefix("`") }
        for row in rows.filter({ !$0[0].contains("*") }) + rows.filter({ $0[0].contains("*") }) {
            for name in types(row[0], but: named) {
                let type = try #require(registry.type(try TypeID(name)), "\(row)")
                let limits = try #require(type.limits)
                #expect(
                    [type.unit ?? "", range(limits.possible), range(limits.plausible)] == [
                        row[1].filter { $0 != "`" }, row[2], row[3],
                    ])
                named.insert(type.id)
            }
        }
        let others = registry.all.filter { type in
            type.limits.map { $0.possible != 0 ... .infinity || $0.plausible != $0.possible } ?? false
        }
        // A sentence of the document names those without bounds.
        let unbounded = others.filter { $0.limits?.possible == -Double.infinity ... .infinity }.map(\.id)
        #expect(unbounded.contains(.hcElevationGained) && unbounded.allSatisfy { text.contains("`\($0)`") })
        #expect(Set(others.map(\.id)) == named.union(unbounded))
    }

    /// The ids in a cell.
    ///
    /// A star stands for all ids with its prefix that no other row has.
    private func types(_ cell: String, but named: Set<TypeID>) -> [String] {
        cell.filter { $0 != "`" }.split(separator: ", ").flatMap { name in
            guard name.hasSuffix("*") else { return [String(name)] }
            return registry.all.map(\.id).filter { !named.contains($0) }.map(\.rawValue).filter {
                $0.hasPrefix(name.dropLast())
            }
        }
    }

    @Test func `every conversion in the table gives the result in its row`() throws {
        var count = 0
        for row in rows(of: 2) where row[0].split(separator: " ").count == 3 {
            let (sent, stored) = (row[0].split(separator: " "), row[1].split(separator: " "))
            guard let value = Double(sent[1]), stored.count == 2 else { continue }
            let type = try #require(registry.type(try TypeID(String(sent[0]))))
            #expect(try type.canonicalValue(value, unit: String(sent[2])) == Double(stored[0]), "\(row)")
            #expect(type.unit == String(stored[1]), "\(row)")
            count += 1
        }
        #expect(count >= 7)
    }

    @Test func `the counts equal those of the registry`() {
        let counts = Dictionary(grouping: registry.all, by: \.kind).mapValues(\.count)
        let origins: [(HealthType.Origin, String)] = [
            (.healthKit, "HealthKit"), (.healthConnect, "Health Connect"), (.vendor, "vendors"), (.hub, "the hub"),
        ]
        let quantities = origins.compactMap { origin, name in
            let count = registry.all.filter { $0.kind == .quantity && $0.origin == origin }.count
            return count > 0 ? "\(count) of \(name)" : nil
        }
        func count(_ kind: SampleKind) -> Int { counts[kind] ?? 0 }
        let sentence =
            "The registry has \(registry.all.count) types: \(count(.quantity)) quantities (\(quantities.joined(separator: ", "))), "
            + "\(count(.category)) categories, \(count(.correlation)) correlations, "
            + "\(count(.workout)) workout with \(WorkoutActivity.all.count) activities, "
            + "\(count(.characteristic)) characteristics and \(count(.other)) others."
        #expect(text.contains(sentence), "\(sentence)")
        #expect(text.contains("at most \(HealthUnit.maximumLength) bytes, \(HealthUnit.maximumDepth) levels"))
        #expect(text.contains("exponents to ±\(HealthUnit.maximumExponent)"))
        #expect(text.contains("1 to \(RecordKey.maximumBytes) bytes of UTF-8") && JSONObject.maximumBytes == 16_384)
        #expect(text.contains("from \(Timestamp(microseconds: Timestamp.range.lowerBound).text) to"))
        #expect(text.contains("to \(Timestamp(microseconds: Timestamp.range.upperBound).text) are taken"))
    }

    @Test func `the document names every unit and prefix of the grammar`() {
        let names = Set(text.components(separatedBy: CharacterSet(charactersIn: " `\n,;")))
        for atom in unitAtoms where atom.name != "mol<M>" { #expect(names.contains(atom.name), "\(atom.name)") }
        for prefix in unitPrefixes { #expect(names.contains(prefix.name), "\(prefix.name)") }
        let prefixed = unitAtoms.filter { $0.takesPrefix && $0.name != "mol<M>" }.map(\.name)
        let sentence = text.components(separatedBy: "Prefixes, on `").last?.components(separatedBy: "`").first ?? ""
        #expect(Set(sentence.split(separator: " ").map(String.init)) == Set(prefixed))
    }

    @Test(arguments: ["bodyMass", "HKQuantityTypeIdentifierBodyMass", "WeightRecord", "omh:body-weight", "29463-7"])
    func `the document's other names for weight resolve`(name: String) {
        #expect(text.contains("`\(name)`") && registry.resolve(name)?.id.rawValue == "weight")
    }

    @Test func `the statements about shared names and declared types are true`() throws {
        #expect(registry.resolve("omh:speed") == nil && registry.ambiguousAliases["omh:speed"] != nil)
        let declared = try HealthType(
            declaring: TypeID("x.acme.glow"), kind: .quantity, unit: "lx", aggregation: .discreteArithmetic)
        #expect(try registry.registering(declared).type(declared.id) === declared)
    }
}
