import HubStore
import HubWire
import Samples

/// The story of a record as JSON: the answer to `trace`.
enum TraceText {
    static func json(of trace: RecordTrace) -> RawJSON {
        guard let current = trace.versions.last?.record else { return RawJSON(trusted: Array("null".utf8)) }
        var text = "{\"number\":\(current.number),\"topic\":"
        var bytes = Array(text.utf8)
        bytes += RawJSON.string(Publication.topic(of: current).text).bytes
        text = ",\"topicHead\":\(trace.topicHead),\"topicCount\":\(trace.topicCount),\"versions\":["
        bytes += text.utf8
        for (index, version) in trace.versions.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += "{\"recordedAt\":\"\(Timestamp(microseconds: version.recordedAt).text)\",\"record\":".utf8
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
