import HubStore
import HubWire
import JSON
import Samples

/// The answer to `statistics` as JSON.
enum StatisticsReport {
    static func json(of question: StatisticsQuestion) -> RawJSON {
        var bytes = Array("{\"type\":".utf8)
        bytes.append(quoted: question.type.rawValue)
        bytes += ",\"person\":".utf8
        bytes.append(quoted: question.person)
        bytes += ",\"unit\":".utf8
        bytes.append(quoted: question.unit)
        if let thinned = question.walk.thinned {
            bytes += ",\"thinned\":{\"days\":\(thinned.count),".utf8
            bytes += "\"first\":\"\(thinned.first.text)\",\"last\":\"\(thinned.last.text)\",\"series\":[".utf8
            for (index, series) in thinned.series.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes.append(quoted: series)
            }
            bytes += "]}".utf8
        }
        bytes += ",\"intervals\":[".utf8
        for (index, row) in question.walk.rows.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += "{\"from\":\"\(text(row.from, question))\",\"to\":\"\(text(row.to, question))\",".utf8
            append(row.total, question, to: &bytes)
            if question.figures.contains(.bySource) {
                bytes += ",\"sources\":[".utf8
                for (place, entry) in row.sources.enumerated() {
                    if place > 0 { bytes.append(UInt8(ascii: ",")) }
                    append(entry.source, to: &bytes)
                    append(entry.tally, question, to: &bytes)
                    bytes.append(UInt8(ascii: "}"))
                }
                bytes.append(UInt8(ascii: "]"))
            }
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: "]"))
        if let next = question.next { bytes += ",\"next\":\"\(next)\"".utf8 }
        bytes.append(UInt8(ascii: "}"))
        return RawJSON(trusted: bytes)
    }

    /// Uses the offset of the zone of the intervals.
    private static func text(_ time: Int64, _ question: StatisticsQuestion) -> String {
        let time = min(max(time, Timestamp.range.lowerBound), Timestamp.range.upperBound)
        return (question.intervals?.local(time) ?? Timestamp(microseconds: time)).text
    }

    private static func append(_ source: Source, to bytes: inout [UInt8]) {
        bytes += "{\"source\":{\"plugin\":".utf8
        bytes.append(quoted: source.plugin)
        for (name, text) in [("device", source.device), ("account", source.account)] {
            guard let text else { continue }
            bytes += ",\"\(name)\":".utf8
            bytes.append(quoted: text)
        }
        bytes += "},".utf8
    }

    private static func append(_ tally: Tally, _ question: StatisticsQuestion, to bytes: inout [UInt8]) {
        bytes += "\"count\":\(tally.count)".utf8
        func number(_ name: String, _ value: Double?) {
            bytes += ",\"\(name)\":".utf8
            if let value { NumberWriter.append(value, to: &bytes) } else { bytes += "null".utf8 }
        }
        let figures = question.figures
        if figures.contains(.average) { number("average", tally.average(question.style)) }
        if figures.contains(.minimum) { number("minimum", tally.minimum) }
        if figures.contains(.maximum) { number("maximum", tally.maximum) }
        if figures.contains(.sum) { number("sum", tally.total) }
        if figures.contains(.duration) {
            number("duration", tally.isCounted ? Double(tally.duration) / 1_000_000 : nil)
        }
        guard figures.contains(.mostRecent) else { return }
        bytes += ",\"mostRecent\":".utf8
        guard let latest = tally.latest else {
            bytes += "null".utf8
            return
        }
        bytes += "{\"value\":".utf8
        NumberWriter.append(latest.value, to: &bytes)
        bytes +=
            ",\"start\":\"\(text(latest.start, question))\",\"end\":\"\(text(latest.end, question))\",\"number\":\(latest.number)}"
            .utf8
    }
}
