import Foundation
import Platform
import ScaleStandIns
import Testing

@testable import ScaleProtocols

extension SeededGenerator {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

func bytes(_ hex: String) -> [UInt8] { hex.split(separator: " ").compactMap { UInt8($0, radix: 16) } }

func resource(_ name: String) throws -> String {
    let url = try #require(Bundle.module.resourceURL)
    return try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8)
}

/// `count` weighings, oldest first, each a little more than a day after the previous one.
func weighings(_ count: Int, mode: HS3HourMode = .sdk12) throws -> [HS3RecordKey] {
    let first = try #require(WallTime(2026, 1, 1, 7, 10, 3))
    return try (0..<count).map { day in
        let time = try #require(first.adding(seconds: day * 86_911))
        return try #require(HS3Record(time, tenthsOfKilogram: 720 + day % 17, mode: mode)).key
    }
}

extension SessionRig where Device == HS3Device {
    var keptKeys: Set<HS3RecordKey> { Set(kept.compactMap { HS3Record($0.raw[...])?.key }) }
}
