import HubStore
import HubWire
import Samples

/// The story of a record as JSON: the answer to `trace`.
enum TraceText {
    static func json(of trace: RecordTrace) -> RawJSON {
        let current = trace.current
        var bytes = Array("{\"number\":\(current.number),\"seq\":\(current.sequence),\"topic\":".utf8)
        bytes += RawJSON.string(Publication.topic(of: current).text).bytes
        bytes += ",\"topicHead\":\(trace.topicHead),\"topicCount\":\(trace.topicCount),\"versions\":[".utf8
        for (index, version) in trace.versions.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += "{\"recordedAt\":\"\(Timestamp(microseconds: version.recordedAt).text)\",".utf8
            if let deed = version.deed { bytes += "\"deed\":\"\(deed)\",".utf8 }
            if let reason = version.reason {
                bytes += "\"reason\":".utf8
                bytes += RawJSON.string(reason).bytes
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
        bytes += ",\"deliveries\":[]}".utf8
        return RawJSON(trusted: bytes)
    }
}
