import FoundationEssentials
import Samples
import Synchronization

/// The clock that a stand-in lives by: the machine's, or one that starts at an instant and runs at a rate, and that can be set again
/// while the stand-in runs.
///
/// Only dates and limits come from it. What happens on a connection, such as a delay, is in real time, because the other end is real.
public final class SettableClock: Sendable {
    private struct Reading {
        /// Microseconds since 1970 at `origin`; nil for the machine's clock.
        var start: Int64?
        var rate: Double
        var origin: ContinuousClock.Instant
    }

    private let reading: Mutex<Reading>

    /// Reads `system` or `START@RATE`, where START is RFC 3339 with offset and RATE is clock seconds per real second:
    /// `2026-01-01T00:00:00Z@3600`; at rate 0 it shows START until it is moved.
    /// - Throws: ``WebFaultsError`` that says what was expected.
    public init(_ text: String = "system") throws(WebFaultsError) {
        reading = Mutex(try Self.read(text))
    }

    /// Sets it, from text as ``init(_:)`` reads it.
    public func set(_ text: String) throws(WebFaultsError) {
        let new = try Self.read(text)
        reading.withLock { $0 = new }
    }

    /// Moves it by seconds, back too; the machine's clock becomes one of its own.
    public func move(seconds: Double) {
        let now = now()
        reading.withLock { reading in
            reading = Reading(
                start: now + Int64(seconds * 1_000_000), rate: reading.start == nil ? 1 : reading.rate, origin: .now)
        }
    }

    /// Microseconds since 1970.
    public func now() -> Int64 {
        let reading = reading.withLock { $0 }
        guard let start = reading.start else { return Self.machineTime() }
        let real = (ContinuousClock.now - reading.origin) / .microseconds(1)
        return start + Int64(real * reading.rate)
    }

    /// How long something takes on this clock, by the machine's.
    public var rate: Double { reading.withLock { $0.start == nil ? 1 : $0.rate } }

    private static func machineTime() -> Int64 {
        Int64(Date().timeIntervalSince1970 * 1_000_000)
    }

    private static func read(_ text: String) throws(WebFaultsError) -> Reading {
        switch ClockSetting(text, rates: 0...ClockSetting.rates.upperBound) {
        case .system?: return Reading(start: nil, rate: 1, origin: .now)
        case .simulated(let start, let rate)?:
            return Reading(start: start.microseconds, rate: rate, origin: .now)
        case nil:
            throw WebFaultsError(
                "clock '\(text)': expected 'system', or an instant with offset and a rate of up to 10000000, such as "
                    + "2026-01-01T00:00:00Z@3600")
        }
    }
}

/// What was asked of a stand-in and cannot be.
public struct WebFaultsError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
