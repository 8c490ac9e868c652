import Testing

@testable import Samples

@Suite struct TypeRegistryDeclarationTests {
    let registry = TypeRegistry.standard

    private func declared(
        _ id: String, kind: SampleKind = .quantity, unit: String? = "kg",
        aggregation: AggregationStyle? = .discreteArithmetic,
        values: [CategoryValue] = []
    ) throws -> HealthType {
        try HealthType(declaring: TypeID(id), kind: kind, unit: unit, aggregation: aggregation, values: values)
    }

    @Test func `a declared type is found in the new registry, and the old one is unchanged`() throws {
        let larger = try registry.registering(declared("x.acme.backpack"))
        let id = try TypeID("x.acme.backpack")
        #expect(larger.type(id)?.unit == "kg" && larger.resolve("x.acme.backpack") != nil)
        #expect(larger.all.count == registry.all.count + 1)
        #expect(registry.type(id) == nil)
        #expect(larger.suggestion(for: "x.acme.bagpack") == id)
    }

    @Test func `declaring the same type again changes nothing, and a different declaration is a conflict`() throws {
        let larger = try registry.registering(declared("x.acme.effort", unit: "kcal/kg·hr"))
        #expect(try larger.registering(declared("x.acme.effort", unit: "kcal/hr·kg")).all.count == larger.all.count)
        for other in [
            try declared("x.acme.effort", unit: "kcal/kg·min"),
            try declared("x.acme.effort", unit: "kcal/kg·hr", aggregation: .cumulative),
            try declared("x.acme.effort", kind: .other, unit: nil, aggregation: nil),
        ] {
            let error = #expect(throws: TypeError.self) { try larger.registering(other) }
            #expect(error?.code == .conflict)
        }
        #expect(throws: Never.self) { try registry.registering(declared("hc.boneMass")) }
        let error = #expect(throws: TypeError.self) { try registry.registering(declared("hc.boneMass", unit: "g")) }
        #expect(
            "\(try #require(error))"
                == "type \"hc.boneMass\": it is declared as quantity in kg, discreteArithmetic already and cannot become "
                + "quantity in g, discreteArithmetic; declare the same or choose another id")
    }

    @Test func `a declaration without a member that its kind needs is rejected`() throws {
        let values = [CategoryValue(raw: 0, name: "off"), CategoryValue(raw: 1, name: "on")]
        #expect(throws: Never.self) {
            try declared("x.acme.lamp", kind: .category, unit: nil, aggregation: nil, values: values)
        }
        let refused: [(TypeError.Code, () throws -> HealthType)] = [
            (.notDeclarable, { try declared("backpack") }),
            (.notDeclarable, { try declared("HKQuantityTypeIdentifierNew") }),
            (.incomplete, { try declared("x.acme.a", unit: nil) }),
            (.incomplete, { try declared("x.acme.a", aggregation: nil) }),
            (.incomplete, { try declared("x.acme.a", kind: .category, unit: nil, aggregation: nil) }),
            (.incomplete, { try declared("x.acme.a", values: values) }),
            (.badUnit, { try declared("x.acme.a", unit: "kilo") }),
            (
                .badValues,
                { try declared("x.acme.a", kind: .category, unit: nil, aggregation: nil, values: values + values) }
            ),
        ]
        for (code, declare) in refused {
            let error = #expect(throws: TypeError.self) { try declare() }
            #expect(error?.code == code)
        }
    }
}
