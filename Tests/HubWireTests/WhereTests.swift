import HubProcess
import HubWire
import Platform
import Samples
import Testing

/// Reading and writing `where` of QUERY (§8.1.1).
@Suite struct WhereTests {
    private static func query(_ expression: String) throws -> QueryRequest {
        let body = #"{"id":1,"want":"records","where":\#(expression)}"#
        guard case .query(let query) = try ClientMessage.decode("QUERY", body) else { fatalError("no QUERY") }
        return query
    }

    private static func error(_ expression: String, _ more: String = "") -> WireError? {
        do throws(WireError) {
            _ = try ClientMessage.decode("QUERY", #"{"id":1,"want":"records"\#(more),"where":\#(expression)}"#)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        #"{"type":["weight","bodyMass"]}"#, #"{"number":[1,9007199254740991]}"#, #"{"key":["a","b\"c"]}"#,
        #"{"source":{"plugin":"sami","device":"band","account":null}}"#,
        #"{"revision":{"version":"9.1","productType":"Watch6,2","operatingSystemVersion":null}}"#,
        #"{"device":{"name":"Watch","manufacturer":null,"udiDeviceIdentifier":"00643169001763"}}"#,
        #"{"time":{"from":"2024-03-15T07:30:05+01:00","to":"2024-03-16T00:00:00Z","strict":["start","end"]}}"#,
        #"{"userEntered":true}"#, #"{"userEntered":false}"#, #"{"metadata":{"name":"HKFoodType"}}"#,
        #"{"metadata":{"name":"mealTime","in":[1,"before",true]}}"#,
        #"{"metadata":{"name":"a",">":1.5,"<=":7}}"#, #"{"metadata":{"name":"a","!=":false}}"#,
        #"{"metadata":{"name":"weatherTemperature",">":20,"unit":"degC"}}"#,
        #"{"quantity":{">=":70,"<":80,"unit":"kg"}}"#, #"{"category":["asleepCore",3]}"#,
        #"{"activity":["running",37]}"#,
        #"{"duration":{">":30,"unit":"min"}}"#, #"{"total":{"type":"activeEnergyBurned",">=":300,"unit":"kcal"}}"#,
        #"{"contains":{"bloodPressureSystolic":{"quantity":{">":130,"unit":"mmHg"}},"bloodPressureDiastolic":{"key":["a"]}}}"#,
        #"{"partOf":"correlation"}"#, #"{"partOf":"workout"}"#, #"{"partOf":17}"#,
        #"{"and":[{"or":[{"partOf":1},{"not":{"userEntered":true}}]},{"not":{"not":{"type":["weight"]}}}]}"#,
    ])
    func `every expression round-trips`(expression: String) throws {
        let query = try Self.query(expression)
        #expect(query.filter.condition?.json.text == expression)
        let message = ClientMessage.query(query)
        #expect(String(decoding: message.body, as: UTF8.self).contains(#""where":\#(expression)"#))
    }

    @Test func `expressions can be built with Swift operators and factory methods`() {
        let condition: QueryRequest.Condition = .quantity(over: 80, "kg") && !.metadata("wasUserEntered")
        #expect(
            condition.json.text
                == #"{"and":[{"quantity":{">":80,"unit":"kg"}},{"not":{"metadata":{"name":"wasUserEntered"}}}]}"#)
        let other: QueryRequest.Condition =
            .category(["asleepCore", 5]) || .device("name", nil) || .metadata("a", .atLeast, .number(2))
        #expect(
            other.json.text
                == #"{"or":[{"category":["asleepCore",5]},{"device":{"name":null}},{"metadata":{"name":"a",">=":2}}]}"#)
    }

    @Test(arguments: [
        ("[]", "QUERY.where: expected an object"), ("null", "QUERY.where: expected an object"),
        ("{}", "QUERY.where: expected an object with exactly one of and, or"),
        (#"{"and":[{"partOf":1}],"or":[{"partOf":1}]}"#, "exactly one of"),
        (#"{"quantitty":{}}"#, #"did you mean "quantity"?"#), (#"{"and":[]}"#, "QUERY.where.and: expected an array"),
        (#"{"and":[{"partOf":1},7]}"#, "QUERY.where.and[1]: expected an object"),
        (#"{"not":[]}"#, "QUERY.where.not: expected an object"), (#"{"type":"weight"}"#, "QUERY.where.type: expected"),
        (#"{"type":[7]}"#, "QUERY.where.type[0]: expected a string, found a number"),
        (#"{"number":[-1]}"#, "QUERY.where.number[0]: expected an integer from 0"),
        (#"{"number":[]}"#, "QUERY.where.number: expected an array of at least one"),
        (#"{"quantity":{"unit":"kg"}}"#, "QUERY.where.quantity: expected at least one of > >="),
        (#"{"quantity":{">":80}}"#, "QUERY.where.quantity.unit: missing"),
        (#"{"quantity":{">":"80","unit":"kg"}}"#, "QUERY.where.quantity.>: expected a number"),
        (#"{"quantity":{">":1e999,"unit":"kg"}}"#, "QUERY.where.quantity.>: expected a number within the range"),
        (#"{"quantity":{"over":80,"unit":"kg"}}"#, #"there is no member "over""#),
        (#"{"metadata":{"name":"a",">":true}}"#, "QUERY.where.metadata.>: expected a string or a number"),
        (#"{"metadata":{"name":"a","=":null}}"#, "expected a string, a number, true or false"),
        (#"{"metadata":{"name":"a","in":[1],"=":1}}"#, "either in, or comparisons"),
        (#"{"metadata":{}}"#, "QUERY.where.metadata.name: missing"),
        (#"{"device":{}}"#, "expected at least one of name, manufacturer"),
        (#"{"device":{"nam":"x"}}"#, #"did you mean "name"?"#),
        (#"{"source":{"device":5}}"#, "QUERY.where.source.device: expected a string, or null for none"),
        (#"{"contains":{}}"#, "QUERY.where.contains: expected types with an expression for each"),
        (#"{"contains":{"a":{"key":["k"]},"a":{"key":["l"]}}}"#, "every type once"),
        (#"{"contains":{"weight":7}}"#, "QUERY.where.contains.weight: expected an object"),
        (
            #"{"contains":{"food":{"not":{"contains":{"weight":{"key":["k"]}}}}}}"#,
            "QUERY.where.contains.food.not.contains: no contains within another"
        ),
        (#"{"partOf":"sleep"}"#, #"expected "correlation", "workout" or the number of one, found "sleep""#),
        (#"{"userEntered":1}"#, "expected true or false"), (#"{"time":{}}"#, "expected from, to or both"),
        (
            #"{"time":{"from":"2024-03-15T07:30:05Z","strict":["both"]}}"#,
            #"expected an array of one of "start", "end""#
        ),
        (#"{"category":[1.5]}"#, "QUERY.where.category[0]: expected a name or its number"),
    ])
    func `R8.82 an error in where names the member and the expected value`(expression: String, reason: String) throws {
        let error = try #require(Self.error(expression))
        #expect(error.code == .field && !error.closed && error.ref == 1)
        #expect(error.reason.contains(reason), "\(error.reason)")
    }

    @Test func `R8.80 an expression is limited in depth, parts and items`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"not":"#, count: depth - 1) + #"{"userEntered":true}"#
                + String(repeating: "}", count: depth - 1)
        }
        func wide(_ parts: Int) -> String {
            #"{"or":["# + Array(repeating: #"{"partOf":1}"#, count: parts - 1).joined(separator: ",") + "]}"
        }
        func list(_ items: Int) -> String {
            #"{"number":["# + (1...items).map(String.init).joined(separator: ",") + "]}"
        }
        #expect(Self.error(nested(16)) == nil && Self.error(wide(256)) == nil && Self.error(list(1_000)) == nil)
        for (expression, reason) in [
            (nested(17), "nested at most 16 deep"), (nested(60), "nested at most 16 deep"),
            (wide(257), "at most 256 expressions"), (wide(10_000), "at most 256 expressions"),
            (list(1_001), "at most 1000 items"), (#"{"and":[\#(list(600)),\#(list(600))]}"#, "at most 1000 items"),
        ] {
            let error = try #require(Self.error(expression))
            #expect(error.code == .field && error.reason.contains(reason), "\(error.reason)")
        }
        // Each part within `contains` is evaluated for every record of a group.
        func within(_ parts: Int) -> String { #"{"contains":{"weight":\#(wide(parts))}}"# }
        #expect(Self.error(within(32)) == nil)
        let several = #"{"or":[\#(within(16)),\#(within(17))]}"#
        for expression in [within(33), several] {
            let reason = try #require(Self.error(expression)).reason
            #expect(reason.contains("at most 32 expressions within contains"), "\(reason)")
        }
        // This is deeper than any JSON may nest.
        #expect([.json, .field].contains(try #require(Self.error(nested(100_000))).code))
        #expect(try #require(Self.error(#"{"quantity":{">":NaN,"unit":"kg"}}"#)).code == .json)
    }

    @Test(arguments: [
        (#"{"userEntered":true}"#, #","kinds":["quantity","retraction"]"#),
        (#"{"not":{"partOf":1}}"#, #","since":"k7qz2m5a-3""#),
        (#"{"and":[{"total":{"type":"stepCount",">":1,"unit":"count"}}]}"#, #","since":"k7qz2m5a-3""#),
        (#"{"contains":{"weight":{"userEntered":true}}}"#, #","since":"k7qz2m5a-3""#),
    ])
    func `R8.84 where is refused for retractions, and conditions on groups are refused for changes`(
        expression: String, more: String
    ) throws {
        let error = try #require(Self.error(expression, more))
        #expect(error.code == .query && error.reason.hasPrefix("QUERY.where: expected no "))
        #expect(Self.error(#"{"userEntered":true}"#, #","since":"k7qz2m5a-3""#) == nil)
    }

    @Test(arguments: Thoroughness.seeds(10))
    func `a mutated expression is refused or round-trips`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let whole =
            #"{"and":[{"quantity":{">=":70,"unit":"kg"}},{"not":{"metadata":{"name":"a","in":[1,"x"]}}},{"device":{"name":null}},{"contains":{"weight":{"key":["k"]}}}]}"#
        for _ in 0..<300 {
            var bytes = Array(whole.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0x20...0x7E, using: &random)
                case 1: bytes.remove(at: place)
                default:
                    bytes.insert(
                        contentsOf: ["{", "}", "null", "1e999", ","].randomElement(using: &random)?.utf8 ?? "".utf8,
                        at: place)
                }
            }
            guard let query = try? Self.query(String(decoding: bytes, as: UTF8.self)),
                let condition = query.filter.condition
            else { continue }
            #expect(try Self.query(condition.json.text).filter.condition == condition, "seed \(seed)")
        }
    }
}
