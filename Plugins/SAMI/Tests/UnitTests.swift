import PluginKit
import Testing

@testable import SAMI

@Suite struct UnitTests {
    @Test(arguments: [
        ("kg", "kg"), ("µg", "mcg"), ("b/min", "count/min"), ("b", "count"), ("℃", "degC"), ("°C", "degC"),
        ("°F", "degF"), ("mmHg", "mmHg"), ("m/s", "m/s"), ("km/h", "km/hr"), ("kg/m²", "kg/m^2"),
        ("mL/(kg·min)", "mL/kg·min"), ("mg/dL", "mg/dL"), ("day", "d"), ("", "count"), (" kg ", "kg"),
    ])
    func `A unit of a manifest is read in the hub's spelling`(text: String, expected: String) throws {
        let unit = try #require(JScienceUnit(text))
        #expect(unit.unit == expected && unit.factor == 1)
        #expect(throws: Never.self) { try HealthUnit(unit.unit) }
    }

    @Test func `SAMI's calorie is the kilocalorie, and other scaled units are scaled`() throws {
        #expect(JScienceUnit("J*4.184") == JScienceUnit("J*4.184"))
        #expect(try #require(JScienceUnit("J*4.184")).unit == "kcal")
        let scaled = try #require(JScienceUnit("m*1000"))
        #expect(scaled.unit == "m" && scaled.factor == 1_000)
        let divided = try #require(JScienceUnit("kg/1000"))
        #expect(divided.unit == "kg" && divided.factor == 0.001)
    }

    @Test(arguments: ["parsec", "kg/m/s", "kg·", "/", "K+273.15", "J*", "lx", "pixel", "mmol/L/", "²"])
    func `A text that is not a unit of the hub gives no unit`(text: String) { #expect(JScienceUnit(text) == nil) }
}
