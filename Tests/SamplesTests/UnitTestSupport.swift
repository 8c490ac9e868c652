import Foundation
import Platform

@testable import Samples

/// Reads the tables that the registry is generated from.
enum Tables {
    static let types = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/Health/Samples/Types").standardizedFileURL

    static func data(_ name: String) throws -> Data {
        try Data(contentsOf: types.appending(path: "Tables").appending(path: name))
    }

    /// The rows of a CSV file, whose fields may be quoted, as dictionaries.
    static func rows(_ name: String) throws -> [[String: String]] {
        var lines = String(decoding: try data(name), as: UTF8.self).split(whereSeparator: \.isNewline).map(fields)
        let header = lines.removeFirst()
        return lines.map { Dictionary(uniqueKeysWithValues: zip(header, $0)) }
    }

    private static func fields(_ line: Substring) -> [String] {
        var fields = [""]
        var isQuoted = false
        for character in line {
            switch character {
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
        }
        return fields
    }
}

extension SeededGenerator {
    private static let names = UnitNames.all.keys.sorted()

    /// A random unit string of the grammar, which may exceed a limit.
    mutating func unitText() -> String {
        func product(_ generator: inout SeededGenerator, depth: Int) -> String {
            let factors = (0..<Int.random(in: 1...3, using: &generator)).map { _ in factor(&generator, depth: depth) }
            return factors.joined(separator: ["·", "*", "."].randomElement(using: &generator) ?? "·")
        }
        func factor(_ generator: inout SeededGenerator, depth: Int) -> String {
            let exponent =
                Int.random(in: 0...3, using: &generator) == 0 ? "^\(Int.random(in: -3...3, using: &generator))" : ""
            switch Int.random(in: 0...9, using: &generator) {
            case 0 where depth < 3: return "(" + product(&generator, depth: depth + 1) + ")" + exponent
            case 1:
                return "mmol<\(Int.random(in: 1...500, using: &generator)).\(Int.random(in: 0...9, using: &generator))>"
                    + exponent
            default: return (Self.names.randomElement(using: &generator) ?? "m") + exponent
            }
        }
        let numerator = product(&self, depth: 0)
        return Bool.random(using: &self) ? numerator : numerator + "/" + product(&self, depth: 0)
    }

    /// A random finite double of a magnitude that occurs in health data, or slightly outside.
    mutating func value() -> Double {
        let value = Double.random(in: -1...1, using: &self) * ([1, 100, 1e-9, 1e9].randomElement(using: &self) ?? 1)
        return Bool.random(using: &self) ? value : value.rounded()
    }
}
