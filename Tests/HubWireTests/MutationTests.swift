import HubProcess
import HubWire
import Platform
import Samples
import Testing

/// Feeds thousands of mutated inputs: nothing may crash, and accepted records must round-trip.
@Suite struct MutationTests {
    @Test(arguments: Thoroughness.seeds(20))
    func `mutated messages are refused or round-trip`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var decoder = RecordDecoder(plugin: "kitchen-script")
        for _ in 0..<300 {
            let texts = (0..<3).map { _ in string(encoded(random.record(plugin: "kitchen-script"))) }
            var bytes = Array(#"{"batch":1,"records":[\#(texts.joined(separator: ","))]}"#.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&bytes, &random) }
            guard let message = try? bytes.withUnsafeBytes({ bytes throws(WireError) in try decoder.samples(bytes) })
            else {
                continue
            }
            for case .success(let record) in message.records {
                let again = try decode(string(encoded(record))).get()
                #expect(again == record, "seed \(seed): \(string(bytes))")
            }
        }
    }

    @Test(arguments: Thoroughness.seeds(10))
    func `mutated stored records are refused or round-trip`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let record = random.record(plugin: "kitchen-script")
            var bytes = encoded(random.stored(record))
            for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&bytes, &random) }
            guard let stored = try? decodeStored(bytes) else { continue }
            #expect(try decodeStored(encoded(stored)) == stored, "seed \(seed): \(string(bytes))")
        }
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: bytes.indices, using: &random)
        let tokens = [
            "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "1e999", "-", "\\ud800", "\u{0}", "\u{e9}", " ", "0",
            "true",
        ]
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(contentsOf: (tokens.randomElement(using: &random) ?? "").utf8, at: place)
        case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &random)))
        default:
            let end = min(bytes.count, place + Int.random(in: 1...30, using: &random))
            bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: bytes.indices, using: &random))
        }
    }
}
