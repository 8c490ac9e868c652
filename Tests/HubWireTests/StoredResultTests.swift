import HubWire
import Samples
import Testing

/// The results in STORED, which are read on a fast path if they have the hub's own form.
@Suite struct StoredResultTests {
    private static func stored(_ results: String) throws -> Stored {
        let body = #"{"batch":1,"results":\#(results),"credit":{"records":1,"bytes":1}}"#
        guard case .stored(let stored) = try HubMessage.decode("STORED", Array(body.utf8)) else {
            throw WireError(.verb, "not STORED")
        }
        return stored
    }

    @Test func `results round-trip`() throws {
        var numbers = SystemRandomNumberGenerator()
        for size in [1, 2, 7, 100, 1_000] {
            let results = (0..<size).map { _ -> RecordResult in
                // Numbers with any count of digits.
                let limit = Int64.random(in: 1...53, using: &numbers)
                let (number, sequence) = (
                    Int64.random(in: 0..<(1 << limit), using: &numbers),
                    Int64.random(in: 0..<(1 << limit), using: &numbers)
                )
                return switch Int.random(in: 0..<(size > 7 ? 300 : 4), using: &numbers) {
                case 0: .rejected(.value, reason: "value: \"[{\" is none")
                case 1: .duplicate(number: number, sequence: sequence)
                default: .stored(number: number, sequence: sequence)
                }
            }
            let written = HubMessage.stored(Stored(batch: 7, results: results, credit: .zero))
            #expect(try HubMessage.decode("STORED", written.body) == written)
        }
    }

    @Test(arguments: [
        #"[ {"result":"stored","number":4,"seq":5} , {"result":"duplicate","number":6,"seq":7} ]"#,
        #"[{"seq":5,"number":4,"result":"stored"},{"result":"duplicate","number":6,"seq":7}]"#,
        #"[{"result":"stored","number":4,"seq":5,"later":[1]},{"result":"duplicate","number":6,"seq":7}]"#,
        #"[{"result":"stored","number":4,"seq":5},{"result":"duplicate","number":1,"number":6,"seq":7}]"#,
        #"[{"r\u0065sult":"stored","number":4,"seq":5},{"result":"duplicate","number":6,"seq":7}]"#,
        #"[{"result":"stored","number":4,"seq":5},{"result":"duplicate","number":6,"seq":7}]"#,
    ])
    func `all spellings of results are read as the same values`(_ text: String) throws {
        #expect(
            try Self.stored(text).results == [.stored(number: 4, sequence: 5), .duplicate(number: 6, sequence: 7)])
    }

    @Test(arguments: [
        (
            #"[{"result":"stored","number":4,"seq":5},{"result":"stored","number":9007199254740992,"seq":5}]"#,
            "[1].number"
        ),
        (#"[{"result":"stored","number":99999999999999999999,"seq":5}]"#, "[0].number"),
        (#"[{"result":"stored","number":4,"seq":-5}]"#, "[0].seq"),
        (#"[{"result":"stored","number":4,"seq":5.5}]"#, "[0].seq"),
        (#"[{"result":"stored","number":4,"seq":5e1}]"#, "[0].seq"),
        (#"[{"result":"stored","number":4}]"#, "[0].seq"),
        (#"[{"result":"storing","number":4,"seq":5}]"#, "[0].result"),
    ])
    func `invalid results are rejected with their JSON path`(_ text: String, _ place: String) throws {
        let error = #expect(throws: WireError.self) { try Self.stored(text) }
        #expect(error?.code == .field)
        #expect(
            error?.reason.hasPrefix("STORED.results\(place): expected") == true
                || error?.reason.hasPrefix("STORED.results\(place): missing") == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: [
        #"[{"result":"stored","number":04,"seq":5}]"#, #"[{"result":"stored","number":4,"seq":5},]"#,
        #"[{"result":"stored","number":4,"seq":5}"#, #"[{"result":"stored","number":,"seq":5}]"#,
    ])
    func `a body that is not JSON is refused`(_ text: String) throws {
        #expect(throws: WireError.self) { try Self.stored(text) }
    }
}
