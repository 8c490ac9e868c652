import JSON
import Samples

/// Reads a night of HC Webhook.
///
/// It has no start, so the start is the end minus the duration.
struct SleepSession {
    let array: WebhookArray
    let at: String

    func read(_ members: Members, _ batch: inout PhoneBatch) {
        guard let end = members.text("session_end_time").flatMap(PhoneTime.read) else {
            return batch.reject(at, "time", "session_end_time is missing, or no instant")
        }
        guard let length = members.number("duration_seconds"), length >= 0, length <= 604_800 else {
            return batch.reject(at, "time", "negative length, or none, or more than 7 days")
        }
        guard end.microseconds <= array.made else {
            return batch.reject(at, "time", "ends after the payload was made: a projection")
        }
        let start = Timestamp(microseconds: end.microseconds - Int64((length * 1_000_000).rounded()))
        let item = HealthConnectItem(
            maker: array.maker, at: at, start: start, end: end, metadata: array.metadata(members),
            origin: array.origin(members))
        var stages: [SleepStage] = []
        if let list = members["stages"], list.kind == .array {
            guard
                let read = Self.stages(
                    list, array.bytes, at: "\(at)/stages", times: ("start_time", "end_time"), &batch)
            else { return batch.reject(at, "time", "a stage cannot be read: the night is taken whole or not at all") }
            stages = read.stages
            if read.count > 0, stages.isEmpty { return }
        }
        if stages.isEmpty { stages = [SleepStage(raw: 1, start: start, end: end)] }
        item.sleep(stages, &batch)
    }

    /// The sleep stages without other stages; `nil` if a stage cannot be read.
    static func stages(
        _ list: JSONValue, _ bytes: UnsafeRawBufferPointer, at: String, times: (StaticString, StaticString),
        _ batch: inout PhoneBatch
    ) -> (stages: [SleepStage], count: Int)? {
        var stages: [SleepStage] = []
        var cursor = ArrayCursor(list, in: bytes)
        while let element = cursor.next() {
            let members = Members(element, in: bytes)
            guard members.repeatedName == nil, let start = members.text(times.0).flatMap(PhoneTime.read),
                let end = members.text(times.1).flatMap(PhoneTime.read), start.microseconds <= end.microseconds,
                // One app writes the number as a text.
                let code = members.text("stage").flatMap({ Int($0) })
                    ?? members.number("stage").flatMap({ Int(exactly: $0) })
            else { return nil }
            switch HealthConnectCodes.sleep[code] {
            case .some(.some(let raw)): stages.append(SleepStage(raw: raw, start: start, end: end))
            case .some(.none): batch.ignore("\(at)/\(cursor.count - 1)", "out of bed: no sleep record")
            case .none: batch.reject("\(at)/\(cursor.count - 1)", "value", "there is no such stage of sleep")
            }
        }
        return (stages, cursor.count)
    }
}
