import HealthExports
import HealthText
import HubClient
import HubWire
import Samples

/// The hub's answer about statistics, all pages together.
struct StatsAnswer {
    /// The first page, for the members that are the same in each; the intervals of all pages, byte for byte.
    private var first: RawJSON?
    private var intervals: [ArraySlice<UInt8>] = []

    var count: Int { intervals.count }

    init() {}

    /// Queries all pages.
    init(_ query: QueryRequest, _ door: DoorClient) throws {
        var query = query
        repeat {
            guard case .answer(.statistics, let page) = try door.ask(query).content else {
                throw Failure(.dialogue, "the hub answered a question about statistics without statistics")
            }
            query.next = try add(page)
            if query.next != nil, Terminal.showsProgress { Terminal.progress(NumberText.count(count, "interval")) }
        } while query.next != nil
    }

    /// Adds a page.
    ///
    /// - Returns: the mark of the next page.
    mutating func add(_ page: RawJSON) throws(Failure) -> String? {
        let members = RawMembers.members(of: page.bytes[...])
        guard let list = members["intervals"] else {
            throw Failure(.dialogue, "the hub's answer is of another version than this program: no intervals")
        }
        intervals += RawMembers.elements(of: list)
        if first == nil { first = page }
        return members["next"].flatMap { RawJSON(trusted: Array($0)).textValue }
    }

    /// All pages as one document, as a single page would be.
    var json: [UInt8] {
        let members = RawMembers.members(of: (first?.bytes ?? [])[...])
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for name in ["type", "person", "unit", "thinned"] {
            guard let value = members[name] else { continue }
            bytes += "\"\(name)\":".utf8 + value + ",".utf8
        }
        bytes += "\"intervals\":[".utf8
        bytes += intervals.joined(separator: ",".utf8)
        return bytes + "]}".utf8
    }

    func statistics() throws -> StatisticsPage { try JSON.answer(StatisticsPage.self, RawJSON(trusted: json)) }
}

extension StatisticsPage {
    /// Advice if samples of the span are gone, so that empty intervals are not taken for days without samples.
    var thinnedAdvice: String? {
        thinned.map { thinned in
            let series = thinned.series.map { " --series \($0)" }.joined()
            return "\(NumberText.count(thinned.days, "day")) from \(thinned.first) to \(thinned.last) "
                + "\(thinned.days == 1 ? "does" : "do") not count here, or not whole: samples were thinned to a value a day "
                + "([retention.NAME] in hub.conf). hub days \(type) --person \(person)\(series) --from \(thinned.first) "
                + "--to \(thinned.last) shows them"
        }
    }

    /// The requested figures.
    var figures: [StatisticsFigure] { intervals.first?.figures.asked ?? [] }

    /// A header and one line for each interval, and for each source if they were requested (RFC 4180).
    func csv() -> [String] {
        let figures = figures
        let hasSources = intervals.contains { $0.sources != nil }
        func numbers(_ row: Figures) -> [String] {
            ["\(row.count)"] + figures.map { row[$0].map(NumberText.shortest) ?? "" }
        }
        let header = ["from", "to", "type", "person", "unit"] + (hasSources ? ["source"] : []) + ["count"]
        var lines = [CSVColumn.line(of: header + figures.map(\.rawValue))]
        for interval in intervals {
            let begin = [interval.from, interval.to, type, person, unit]
            lines.append(CSVColumn.line(of: begin + (hasSources ? [""] : []) + numbers(interval.figures)))
            for part in interval.sources ?? [] {
                lines.append(CSVColumn.line(of: begin + [part.source.words] + numbers(part.figures)))
            }
        }
        return lines
    }
}

extension Source {
    /// `phone pocket`: kind, device and account.
    var words: String { [plugin, device, account].compactMap(\.self).joined(separator: " ") }
}
