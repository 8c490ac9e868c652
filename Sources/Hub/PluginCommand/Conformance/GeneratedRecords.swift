package import Foundation
package import Samples

/// Made-up records for sinks: three of a type, of the last days, with ordinary values.
package enum GeneratedRecords {
    /// The first of these types for which records can be made up; `nil` if there is none.
    package static func type(among names: [String], mayBeNamed: Bool = true) -> HealthType? {
        names.lazy.compactMap { TypeRegistry.standard.resolve($0) }.first { type in
            type.kind == .quantity || mayBeNamed && type.kind == .category && type.values.contains { !$0.isOldName }
        }
    }

    /// Samples one day apart, with their times as keys.
    ///
    /// - Parameters:
    ///   - type: a type that ``type(among:mayBeNamed:)`` returned.
    ///   - plugin: the kind of their source.
    ///   - now: a time one day after the last sample.
    package static func samples(_ type: HealthType, of plugin: String, device: String? = nil, before now: Date)
        -> [Record]
    {
        let name = type.values.first { !$0.isOldName }
        return days(before: now).compactMap { age, second -> Record? in
            let start = Timestamp(microseconds: second * 1_000_000, offsetMinutes: 60)
            return RecordKey(start.text).map { key in
                .sample(
                    Sample(
                        source: Source(plugin: plugin, device: device), key: key, type: type.id,
                        value: name.map { .category(name: $0.name, raw: Int64($0.raw ?? 0)) }
                            ?? .quantity(value(type, age), unit: type.unit ?? ""), start: start))
            }
        }
    }

    /// Day values of a quantity, in the form in which the gap-filler makes them.
    package static func dayValues(_ type: HealthType, person: String, before now: Date) -> [Record] {
        days(before: now).map { age, second in
            .day(
                DayValue(
                    source: Source(plugin: "gap-filler"), person: person, type: type.id, series: "mean30",
                    date: LocalDate(daysSinceEpoch: Int(second / 86_400)), value: value(type, age),
                    unit: type.unit ?? "", method: "mean"))
        }
    }

    /// The last three days: a target may refuse older ones.
    private static func days(before now: Date) -> [(age: Int, second: Int64)] {
        (1...3).reversed().map { ($0, Int64(now.timeIntervalSince1970) - Int64($0) * 86_400) }
    }

    /// A plausible value that surprises no one.
    static func value(_ type: HealthType, _ age: Int) -> Double {
        let digits = pow(10, Double(type.decimals))
        return (type.unsurprising(0.2 + Double(age) / 500) * digits).rounded() / digits
    }
}

extension HealthType {
    private var usual: ClosedRange<Double> {
        let range = limits?.plausible ?? 0...100
        let least = max(range.lowerBound, -1_000)
        return least...max(least, min(range.upperBound, 10_000))
    }

    /// The number of decimals needed to tell its values apart.
    package var decimals: Int {
        let span = usual.upperBound - usual.lowerBound
        return span > 1_000 ? 0 : span > 20 ? 1 : 3
    }

    /// A plausible value of a quantity that surprises no one.
    ///
    /// - Parameter part: the position between the least plausible value (0) and the most (1); about 0.2 is usual.
    package func unsurprising(_ part: Double) -> Double {
        usual.lowerBound + (usual.upperBound - usual.lowerBound) * part
    }
}
