import Foundation
import Samples

/// Converts local times to instants.
enum PhoneZone {
    /// The instants at which the clocks of a zone showed a local time; none or two around clock changes, otherwise one.
    ///
    /// `local` is given as if the clock were in UTC. `nil` if the zone does not exist.
    static func times(_ local: Int64, _ zone: String) -> [Timestamp]? {
        guard let zone = TimeZone(identifier: zone) else { return nil }
        let seconds = local.flooredDivision(by: 1_000_000)
        let offsets = Set(
            [-86_400, 86_400].map { zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds + $0))) })
        return offsets.sorted().reversed().compactMap { offset in
            let instant = local - Int64(offset) * 1_000_000
            let date = Date(timeIntervalSince1970: Double(instant.flooredDivision(by: 1_000_000)))
            guard zone.secondsFromGMT(for: date) == offset, offset % 60 == 0 else { return nil }
            return Timestamp(microseconds: instant, offsetMinutes: Int16(offset / 60))
        }
    }
}
