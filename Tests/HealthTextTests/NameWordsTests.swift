import Samples
import Testing

@testable import HealthText

/// The names of programs in people's words.
@Suite struct NameWordsTests {
    @Test(arguments: [
        ("asleepREM", "Asleep REM"), ("appleECGAlgorithmVersion", "Apple ECG algorithm version"),
        ("averageMETs", "Average METs"), ("externalUUID", "External UUID"), ("expected_weight", "Expected weight"),
        ("openWater", "Open water"), ("bolus", "Bolus"), ("aPositive", "A+"), ("skin prick", "Skin prick"),
        ("maxExercise60Minute", "Maximal exercise, 60 minutes"), ("vo2MaxValue", "VO2 max"),
    ])
    func `a name becomes words, and abbreviations keep their capitals`(_ name: String, _ words: String) {
        #expect(NameWords.text(name) == words)
        #expect(NameWords.means(words.lowercased(), name))
    }

    @Test func `no two values of a type and no two facts have the same words`() {
        for type in TypeRegistry.standard.all {
            let words = type.values.filter { !$0.isOldName }.map { NameWords.text($0.name) }
            #expect(Set(words).count == words.count, "\(type.id): \(words)")
            #expect(words.allSatisfy { !NameWords.isName($0) })
        }
        let keys = MetadataKey.all.map { NameWords.text($0.name) }
        #expect(Set(keys).count == keys.count)
    }

    @Test func `a bound that a value exceeds is in the unit of its reader`() throws {
        func doubt(_ type: TypeID, _ value: Double, _ unit: String, _ shown: String? = nil) throws -> String? {
            let sample = Sample(
                source: Source(plugin: "p"), key: try #require(RecordKey("k")), type: type,
                value: .quantity(value, unit: unit), start: Timestamp(microseconds: 0))
            let stored = StoredRecord(
                record: .sample(sample), number: 1, sequence: 1, assignment: .nobody(reason: ""), type: type)
            return ValueText.doubt(stored, for: DisplayPreferences(units: shown.map { [type: $0] } ?? [:]))
        }
        #expect(try doubt(.weight, 450, "kg") == "above 400.0 kg")
        #expect(try doubt(.weight, 0.9, "kg", "lb") == "below 2.2 lb")
        #expect(
            try doubt(.bodyFatPercentage, 0.9, "%") == "above 80.0 %"
                || doubt(.bodyFatPercentage, 0.9, "%") == "above 80 %")
        #expect(try doubt(.bodyTemperature, 10, "degC")?.hasSuffix("°C") == true)
        #expect(try doubt(.weight, 80, "kg") == nil)
    }
}
