import HubStore
import HubWire
import Samples

/// The answer to `trace`, the history of a record, as JSON.
enum TraceReport {
    static func json(of trace: RecordTrace, _ waits: WaitClock) -> RawJSON {
        let current = trace.current
        var bytes = Array("{\"number\":\(current.number),\"seq\":\(current.sequence),\"topic\":".utf8)
        bytes += RawJSON.string(Topic(current).text).bytes
        bytes +=
            ",\"topicHead\":\(trace.topicHead),\"topicCount\":\(trace.topicCount),\"versionCount\":\(trace.versionCount),\"versions\":["
            .utf8
        for (index, version) in trace.versions.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += "{\"recordedAt\":\"\(Timestamp(microseconds: version.recordedAt).text)\",".utf8
            if let deed = version.deed { bytes += "\"deed\":\"\(deed)\",".utf8 }
            if let reason = version.reason {
                bytes += "\"reason\":".utf8
                bytes += RawJSON.string(reason).bytes
                bytes.append(UInt8(ascii: ","))
            }
            if let ruling = version.ruling {
                bytes += "\"ruling\":".utf8
                bytes += RawJSON(encoding: Ruling(ruling)).bytes
                bytes.append(UInt8(ascii: ","))
            }
            if version.isCovered { bytes += "\"covered\":true,".utf8 }
            bytes += "\"record\":".utf8
            RecordEncoder.append(version.record, to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: "]"))
        if let retracted = trace.retracted {
            bytes += ",\"retracted\":".utf8
            RecordEncoder.append(retracted, to: &bytes)
        }
        bytes += ",\"deliveries\":".utf8
        bytes += RawJSON(encoding: trace.deliveries.map { Delivery($0, waits) }).bytes
        if !trace.days.isEmpty { append(trace.days, waits, to: &bytes) }
        if let next = trace.next { bytes += ",\"next\":\"\(next.text(of: current.number))\"".utf8 }
        bytes.append(UInt8(ascii: "}"))
        return RawJSON(trusted: bytes)
    }

    private static func append(_ days: [RecordTrace.BuiltDay], _ waits: WaitClock, to bytes: inout [UInt8]) {
        bytes += ",\"days\":[".utf8
        for (index, day) in days.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += "{\"record\":".utf8
            RecordEncoder.append(day.record, to: &bytes)
            bytes += ",\"deliveries\":".utf8
            bytes += RawJSON(encoding: day.deliveries.map { Delivery($0, waits) }).bytes
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// The rule that assigned a version to its person.
    private struct Ruling: Encodable {
        /// `subject`, `weight` or `group`.
        var rule: String
        var probability: Double?
        var odds: String?

        init(_ ruling: HubStore.Ruling) {
            (rule, probability, odds) = ("\(ruling.rule)", ruling.probability, ruling.odds)
        }
    }

    /// The state of the record at a sink.
    private struct Delivery: Encodable {
        var sink: String
        /// `pending`, `retrying`, `unauthorized`, `delivered`, `refused`, `superseded` or `skipped`.
        var state: String
        /// The version that `state` refers to.
        var seq: Int64
        /// When it reached this state; absent if only the sink's cursor shows it.
        var at: String?
        var attempts: Int64?
        var reason: String?
        /// When it is delivered again.
        var due: String?
        /// The last confirmation of the sink, for this version or an older one.
        var confirmed: Confirmed?

        struct Confirmed: Encodable {
            var seq: Int64
            var at: String?
            var receipt: String?
        }

        init(_ delivery: SinkDelivery, _ waits: WaitClock) {
            (sink, seq) = ("\(delivery.sink)", delivery.sequence)
            at = delivery.at.map { Timestamp(microseconds: $0).text }
            attempts = delivery.attempts > 0 ? delivery.attempts : nil
            confirmed = delivery.receipt.map { receipt in
                Confirmed(
                    seq: receipt.sequence, at: receipt.at.map { Timestamp(microseconds: $0).text },
                    receipt: receipt.receipt)
            }
            switch delivery.state {
            case .pending: state = "pending"
            case .retrying(let due, let reason):
                (state, self.reason, self.due) = (
                    "retrying", reason, Timestamp(microseconds: waits.shown(due)).text
                )
            case .unauthorized(let reason): (state, self.reason) = ("unauthorized", reason)
            case .delivered: state = "delivered"
            case .refused(let reason): (state, self.reason) = ("refused", reason)
            case .superseded: state = "superseded"
            case .skipped(let reason): (state, self.reason) = ("skipped", "\(reason)")
            }
        }
    }
}
