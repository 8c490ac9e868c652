import Samples
import Testing

@testable import HealthExports

@Suite struct InterchangeTests {
    @Test func `a hundredfold has the same digits as the value, and a moved decimal point`() {
        let pairs: [(Double, String)] = [
            (0.29, "29"), (0.182, "18.2"), (1.778, "177.8"), (0, "0"), (1, "100"), (0.005, "0.5"), (0.0001, "0.01"),
            (-0.07, "-7"), (1.15, "115"), (12.345678, "1234.5678"), (0.1, "10"), (1e-7, "1e-5"),
        ]
        for (value, text) in pairs { #expect(DecimalDigits.hundredfold(value) == text) }
    }

    @Test func `a hundredfold is the exact product, to the last digit`() {
        for seed in 0..<2_000 {
            let value = Double(seed * 7_919 % 100_003) / 10_000
            let text = DecimalDigits.hundredfold(value)
            // Its digits are those of the value: dividing them by a hundred gives exactly the same double.
            #expect(Double(text).map { $0 / 100 } == value || Double("\(text)e-2") == value, "\(value)")
        }
    }

    @Test func `a decimal of XML has no exponent and is the same number`() {
        for value in [1e-7, -2.5e-9, 1e21, 1.25e22, 0.1, 52.5201, -13, 123_456_789.125] {
            let text = GPXExport.decimal(value)
            #expect(!text.contains("e") && Double(text) == value, "\(text)")
        }
    }

    @Test func `every key of HealthKit's metadata is spelled as in HealthKit`() {
        for key in MetadataKey.all {
            #expect(MetadataKey.named(AppleHealthExport.constant(key)) == key, "\(key.name)")
        }
    }

    @Test func `a time in Apple's format is rounded down to the second, with its offset`() throws {
        for (time, text) in [
            ("2026-02-10T06:31:00+01:00", "2026-02-10 06:31:00 +0100"),
            ("2026-02-10T06:31:00Z", "2026-02-10 06:31:00 +0000"),
            ("2026-02-10T06:31:59.999999-03:30", "2026-02-10 06:31:59 -0330"),
            ("1969-12-31T23:59:58.5Z", "1969-12-31 23:59:58 +0000"),
        ] {
            #expect(AppleHealthExport.time(try Timestamp(parsing: time)) == text)
        }
    }

    @Test func `text in XML is escaped, and characters that XML cannot contain are replaced`() {
        var bytes: [UInt8] = []
        bytes.append(xml: "a<b>&\"c\"\n\u{B}ü\u{FFFE}\u{FFFF}\u{FF01}")
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "a&lt;b&gt;&amp;&quot;c&quot;&#10;\u{FFFD}ü\u{FFFD}\u{FFFD}\u{FF01}")
    }

    @Test func `a record has the same UUID everywhere, and other records have others`() throws {
        let key = try #require(RecordKey("a"))
        let uuid = RecordUUID.text(Source(plugin: "watch"), key)
        // Computed by another program, because an exported record must be found again.
        #expect(uuid == "04bcd7cb-7156-8358-a9f3-1a9d734bb84d")
        #expect(uuid != RecordUUID.text(Source(plugin: "watch", device: "a"), key))
        #expect(
            RecordUUID.text(Source(plugin: "w", device: "a"), key)
                != RecordUUID.text(Source(plugin: "w", account: "a"), key))
    }

    @Test func `every type has a UCUM unit in FHIR, and the hub's value`() throws {
        for type in TypeRegistry.standard.all where type.kind == .quantity {
            let unit = try #require(type.unit)
            let quantity = InterchangeCode.quantity(2.5, unit, of: type)
            let isHundredfold = quantity.code == "%" || quantity.code == "cm" && unit == "m"
            #expect(quantity.value == (isHundredfold ? "250" : "2.5"), "\(type)")
            #expect(quantity.code != nil, "\(type)")
        }
    }
}
