import HubProcess
import Platform
import Testing

@testable import Samples

@Suite struct UnitPropertyTests {
    static let seed = UInt64.random(in: 0...UInt64.max)

    @Test func `a printed unit parses back to the same unit`() throws {
        var generator = SeededGenerator(seed: Self.seed)
        var accepted = 0
        for _ in 0..<2_000 {
            let text = generator.unitText()
            guard let unit = try? HealthUnit(text) else { continue }  // Exceeds a limit. Other tests check these.
            accepted += 1
            let again = try HealthUnit(unit.description)
            #expect(again == unit && again.description == unit.description, "seed \(Self.seed): \(text)")
            #expect(again.dimension == unit.dimension, "seed \(Self.seed): \(text)")
        }
        #expect(accepted > 500, "seed \(Self.seed): most generated units must be readable")
    }

    @Test func `compatibility is an equivalence and equals convertibility`() throws {
        var generator = SeededGenerator(seed: Self.seed)
        let units = (0..<400).compactMap { _ in try? HealthUnit(generator.unitText()) } + commonUnits
        for left in units.prefix(120) {
            #expect(left.isCompatible(with: left), "seed \(Self.seed): \(left)")
            for right in units {
                let isCompatible = left.isCompatible(with: right)
                #expect(isCompatible == right.isCompatible(with: left), "seed \(Self.seed): \(left), \(right)")
                let converted = Result { try left.convert(1, to: right) }
                if case .failure(let error as UnitError) = converted, error.code == .incompatible {
                    #expect(!isCompatible, "seed \(Self.seed): \(left), \(right)")
                } else {
                    #expect(isCompatible, "seed \(Self.seed): \(left), \(right)")
                }
                guard isCompatible else { continue }
                for third in units where right.isCompatible(with: third) {
                    #expect(left.isCompatible(with: third), "seed \(Self.seed): \(left), \(right), \(third)")
                }
            }
        }
    }

    @Test func `a conversion there and back loses at most one rounding per direction`() throws {
        var generator = SeededGenerator(seed: Self.seed)
        for from in commonUnits {
            for to in commonUnits where from.isCompatible(with: to) {
                for _ in 0..<20 {
                    let value = generator.value()
                    let there = try from.convert(value, to: to)
                    let back = try to.convert(there, to: from)
                    // Half a unit in the last place for each direction. With an offset, the larger number determines the error.
                    let size = max(value.magnitude, from.dimension == temperature ? 500 : 0)
                    #expect(
                        abs(back - value) <= 2 * size.ulp,
                        "seed \(Self.seed): \(value) \(from) is \(there) \(to) is \(back) \(from)")
                }
            }
        }
    }

    @Test func `a conversion through a third unit gives the same number`() throws {
        var generator = SeededGenerator(seed: Self.seed)
        for from in commonUnits where from.dimension != temperature {
            for through in commonUnits where from.isCompatible(with: through) {
                for to in commonUnits where from.isCompatible(with: to) {
                    let value = generator.value()
                    let direct = try from.convert(value, to: to)
                    let indirect = try through.convert(from.convert(value, to: through), to: to)
                    #expect(abs(direct - indirect) <= 2 * direct.ulp, "seed \(Self.seed): \(from), \(through), \(to)")
                }
            }
        }
    }

    @Test func `no input bytes crash the parser`() {
        var generator = SeededGenerator(seed: Self.seed)
        let pieces = [
            "m", "mol<", "180.1", ">", "(", ")", "^", "-", "9", "1", "/", "·", "*", ".", "%", "kcal", "\u{0}", "é", "²",
        ]
        for _ in 0..<Thoroughness.rounds(20_000) {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...24, using: &generator) {
                if Int.random(in: 0...9, using: &generator) == 0 {
                    bytes.append(UInt8.random(in: 0...255, using: &generator))
                } else {
                    bytes += Array((pieces.randomElement(using: &generator) ?? "m").utf8)
                }
            }
            do {
                let unit = try HealthUnit(utf8: bytes)
                #expect(unit.description.utf8.count <= HealthUnit.maximumLength, "seed \(Self.seed): \(bytes)")
            } catch {
                #expect(error.text.utf8.count <= 3 * HealthUnit.maximumLength, "seed \(Self.seed): \(bytes)")
            }
        }
    }

    private var temperature: UnitDimension { UnitDimension((.temperature, 1)) }

    /// The units of the registry, which are converted in practice.
    private var commonUnits: [HealthUnit] {
        TableReader.lines(of: commonUnitTable).compactMap { try? HealthUnit($0[0]) }
    }
}
