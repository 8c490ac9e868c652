import FoundationEssentials
import Samples
import Synchronization

/// The clock of a stand-in: the machine's, or one that starts at an instant and runs at a rate; it can be set while the stand-in runs.
///
/// Only dates and limits use it. Events on a connection, such as a delay, use real time, because the other end is real.
public final class SettableClock: Sendable {
    private struct Reading {
        /// Microseconds since 1970 at `origin`; nil for the machine's clock.
        var start: Int64?
        var rate: Double
        var origin: ContinuousClock.Instant
    }

    private let reading: Mutex<Reading>

    /// Parses `system` or `START@RATE`: START is RFC 3339 with offset, and RATE is clock seconds per real second, as in
    /// `2026-01-01T00:00:00Z@3600`.
    ///
    /// At rate 0 the clock shows START until it is moved.
    /// - Throws: ``WebFaultsError`` with the expected form.
    public init(_ text: String = "system") throws(WebFaultsError) {
        reading = Mutex(try Self.read(text))
    }

    /// Sets the clock from a text in the form of ``init(_:)``.
    public func set(_ text: String) throws(WebFaultsError) {
        let new = try Self.read(text)
        reading.withLock { $0 = new }
    }

    /// Moves the clock by seconds, forward or back; the machine's clock is replaced by a separate one.
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

    /// Clock seconds per real second.
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

/// An invalid request to a stand-in.
public struct WebFaultsError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
