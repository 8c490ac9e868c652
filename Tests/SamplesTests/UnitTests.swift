import Testing

@testable import Samples

@Suite struct UnitTests {
    @Test func `a conversion gives the number that a person would write`() throws {
        let cases: [(Double, String, String, Double)] = [
            (27, "degC", "degF", 80.6), (98.6, "degF", "degC", 37), (36.6, "degC", "degF", 97.88),
            (36.6, "degC", "K", 309.75), (0, "degC", "K", 273.15), (-40, "degF", "degC", -40),
            (72, "count/min", "count/s", 1.2),
            (187, "cm", "m", 1.87), (160, "lb", "kg", 72.5747792), (300, "kcal", "kJ", 1255.2),
            (0.5, "%", "count", 0.5), (180, "deg", "rad", .pi), (2.5, "degC·m", "degF·m", 4.5),
            (1, "mi/hr", "km/hr", 1.609344), (70.1, "kg", "g", 70100),
        ]
        for (value, from, to, expected) in cases {
            #expect(try HealthUnit(from).convert(value, to: HealthUnit(to)) == expected, "\(value) \(from) in \(to)")
        }
    }

    @Test func `an offset applies only if the degree is the whole unit`() throws {
        #expect(try HealthUnit("degC/min").convert(10, to: HealthUnit("degF/min")) == 18)
        #expect(try HealthUnit("1/degC").convert(9, to: HealthUnit("1/degF")) == 5)
        #expect(try HealthUnit("mK").convert(310_150, to: HealthUnit("degC")) == 37)
    }

    @Test func `converting between equal units returns the value bit for bit`() throws {
        for text in ["kg", "degF", "mL/kg·min", "Tm^4"] {
            for value in [0.1, -0.0, Double.leastNonzeroMagnitude, Double.greatestFiniteMagnitude] {
                let result = try HealthUnit(text).convert(value, to: HealthUnit(text))
                #expect(result.bitPattern == value.bitPattern, "\(value) \(text)")
            }
        }
    }

    @Test func `values that are not finite or do not fit the target unit are refused`() throws {
        let (metre, femto) = (try HealthUnit("m"), try HealthUnit("fm"))
        for value in [Double.nan, .infinity, -.infinity] {
            #expect(throws: UnitError.self) { try metre.convert(value, to: metre) }
        }
        let large = #expect(throws: UnitError.self) { try metre.convert(1e300, to: femto) }
        let small = #expect(throws: UnitError.self) { try femto.convert(1e-300, to: metre) }
        #expect(large?.code == .valueOutOfRange && small?.code == .valueOutOfRange)
        #expect(try metre.convert(0, to: femto) == 0)
    }

    @Test(arguments: [
        ("kg m", UnitError.Code.syntax, 2), ("µg", .syntax, 0), ("1/1/s", .syntax, 3), ("m^", .syntax, 2),
        ("m^2.5", .syntax, 4), ("1^2", .syntax, 1), ("mol<1.2.3>", .syntax, 3), ("mol<0>", .syntax, 3),
        ("mol<18", .syntax, 6), ("m·", .syntax, 3), ("KG", .unknownUnit, 0), ("km/h", .unknownUnit, 3),
        ("kcal·kkcal", .unknownUnit, 6), ("m^16", .exponentOutOfRange, 1),
        ("m^99999999999999999999", .exponentOutOfRange, 1), ("(((((((((m)))))))))", .tooDeep, 8),
    ])
    func `an error has its code, position and text`(text: String, code: UnitError.Code, position: Int) {
        let error = #expect(throws: UnitError.self) { try HealthUnit(text) }
        #expect(error?.code == code)
        #expect(error?.position == position)
        #expect(error?.text == text)
    }

    @Test func `limits apply to the unit as a whole`() {
        let cases: [(String, UnitError.Code)] = [
            (String(repeating: "m", count: 65), .tooLong), ("(m^15)^15", .exponentOutOfRange),
            ("m^15·m", .exponentOutOfRange), ("(m.s.g.K.V.W.S.J.L.A.Pa.Hz)^9", .unknownUnit),
            ("(m.s.g.K.V.S.L.Pa.Hz.rad.lx.IU.D.pD.in.ft.yd)^9", .tooLong), ("Tm^15", .scaleOutOfRange),
            ("1/Tm^15", .scaleOutOfRange),
        ]
        for (text, code) in cases {
            let error = #expect(throws: UnitError.self) { try HealthUnit(text) }
            #expect(error?.code == code, "\(text)")
        }
        let long = #expect(throws: UnitError.self) { try HealthUnit(String(repeating: "m", count: 1_000_000)) }
        #expect(
            (long?.text.utf8.count ?? .max) <= HealthUnit.maximumLength, "a message must not contain the whole input")
    }

    @Test(arguments: [
        ("bpm", "count/min"), ("lbs", "lb"), ("km/h", "hr"), ("Kg", "kg"), ("kcla", "kcal"), ("mmhg", "mmHg"),
        ("percent", "%"), ("ug", "mcg"), ("kilos", "kg"),
    ])
    func `the error for an unknown unit suggests the intended one`(text: String, meant: String) {
        let error = #expect(throws: UnitError.self) { try HealthUnit(text) }
        #expect(error?.reason.contains("did you mean \(meant)?") == true, "\(String(describing: error))")
    }

    @Test(arguments: ["x", "q", "xq", "kg·x"]) func `no suggestion is made for a single unknown letter`(text: String) {
        let error = #expect(throws: UnitError.self) { try HealthUnit(text) }
        #expect(error?.reason.contains("did you mean") == false, "\(String(describing: error))")
    }

    @Test func `the description of an error is one readable line`() throws {
        let unknown = #expect(throws: UnitError.self) { try HealthUnit("count/mim") }
        #expect("\(try #require(unknown))" == "unit \"count/mim\", byte 6: unknown unit mim; did you mean min?")
        let pair = #expect(throws: UnitError.self) { try HealthUnit("in").convert(70, to: HealthUnit("kg")) }
        #expect(
            "\(try #require(pair))"
                == "unit \"in\": it measures length and does not convert to \"kg\", which measures mass; "
                + "send a unit of the same dimension as \"kg\"")
    }

    @Test func `no spelling in the tables stands for two units`() throws {
        let plain = unitAtoms.flatMap { [$0.name] + $0.spellings }
        let prefixed = unitAtoms.filter(\.takesPrefix).flatMap { atom in
            unitPrefixes.filter { !$0.name.isEmpty }.flatMap { prefix in
                ([atom.name] + atom.spellings).map { prefix.name + $0 }
            }
        }
        // HealthKit's 49 names and one other spelling, and the units that it lacks.
        let own = try Tables.rows("hub-units.csv").flatMap { row in
            [row["unit"] ?? ""] + (row["accepted_aliases"] ?? "").split(separator: "|").map(String.init)
        }
        #expect(Set(plain).count == 49 + 1 + own.count && Set(own).isSubset(of: plain))
        let doubled = Dictionary(grouping: plain + prefixed) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
        #expect(doubled.isEmpty)
    }
}
