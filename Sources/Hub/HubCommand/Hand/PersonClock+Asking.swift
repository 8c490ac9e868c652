import Foundation
import HealthText
import HubClient
import Samples

extension PersonClock {
    /// The instant of a typed moment, and the zone's name if it was needed; asks the person if the hour occurs twice.
    ///
    /// - Parameter takesDay: whether a day without a time is allowed.
    func moment(_ argument: MomentArgument, takesDay: Bool) throws(Failure) -> (time: Timestamp, zone: String?) {
        let reading = try Failure.entryValue { () throws(EntryError) in
            if !takesDay { try argument.refuseDay() }
            return try argument.reading(now: now, in: zone)
        }
        switch reading {
        case .one(let time, let isLocal): return (time, isLocal ? zone.identifier : nil)
        case .two(let first, let second):
            let choices = "\(MomentText.moment(first)) or \(MomentText.moment(second))"
            guard Terminal.canAsk else {
                throw Failure(.usage, "\(argument.text) came twice that day; say which: \(choices)")
            }
            Terminal.say("\(argument.text) came twice that day:")
            Terminal.say("  1  \(MomentText.moment(first))")
            Terminal.say("  2  \(MomentText.moment(second))")
            Terminal.progress("Which? [1/2] ")
            switch readLine() {
            case "1": return (first, zone.identifier)
            case "2": return (second, zone.identifier)
            default: throw Failure(.unhealthy, "nothing was changed")
            }
        }
    }
}
