import HubClient
import HubWire

/// Statistics as the hub answers them, all pages together.
struct StatsAnswer {
    /// Members of the first page that are the same in each, and the intervals of all, byte for byte.
    private var first: RawJSON?
    private var intervals: [ArraySlice<UInt8>] = []

    var count: Int { intervals.count }

    /// Takes a page in.
    /// - Returns: the mark of the next.
    mutating func add(_ page: RawJSON) throws(Failure) -> String? {
        let members = RawMembers.members(of: page.bytes[...])
        guard let list = members["intervals"] else {
            throw Failure(.dialogue, "the hub's answer is of another version than this program: no intervals")
        }
        intervals += RawMembers.elements(of: list)
        if first == nil { first = page }
        return members["next"].flatMap { RawJSON(trusted: Array($0)).textValue }
    }

    /// One document, as a single page would be.
    var json: [UInt8] {
        let members = RawMembers.members(of: (first?.bytes ?? [])[...])
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for name in ["type", "person", "unit"] {
            guard let value = members[name] else { continue }
            bytes += "\"\(name)\":".utf8 + value + ",".utf8
        }
        bytes += "\"intervals\":[".utf8
        bytes += intervals.joined(separator: ",".utf8)
        return bytes + "]}".utf8
    }

    func statistics() throws -> Statistics { try JSON.answer(Statistics.self, RawJSON(trusted: json)) }
}

/// Statistics of one person and type.
struct Statistics: Decodable {
    struct Figures: Decodable {
        struct Reading: Decodable {
            var value: Double
            var start, end: String
            var number: Int64
        }
        var count: Int
        var sum, duration, average, minimum, maximum: Double?
        var mostRecent: Reading?
        /// Those that were asked for, also where there is nothing.
        private(set) var asked: [StatsFigure] = []

        private enum CodingKeys: CodingKey { case count, sum, duration, average, minimum, maximum, mostRecent }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            count = try members.decode(Int.self, forKey: .count)
            sum = try members.decodeIfPresent(Double.self, forKey: .sum)
            duration = try members.decodeIfPresent(Double.self, forKey: .duration)
            average = try members.decodeIfPresent(Double.self, forKey: .average)
            minimum = try members.decodeIfPresent(Double.self, forKey: .minimum)
            maximum = try members.decodeIfPresent(Double.self, forKey: .maximum)
            mostRecent = try members.decodeIfPresent(Reading.self, forKey: .mostRecent)
            let names = Set(members.allKeys.map(\.stringValue))
            asked = StatsFigure.allCases.filter { names.contains($0.rawValue) }
        }

        /// In the type's unit; of durations seconds.
        subscript(figure: StatsFigure) -> Double? {
            switch figure {
            case .sum: sum
            case .duration: duration
            case .average: average
            case .minimum: minimum
            case .maximum: maximum
            case .mostRecent: mostRecent?.value
            }
        }
    }

    struct Source: Decodable {
        struct Name: Decodable {
            var plugin: String
            var device, account: String?

            var text: String { [plugin, device, account].compactMap(\.self).joined(separator: " ") }
        }
        var source: Name
        var figures: Figures

        private enum CodingKeys: CodingKey { case source }

        init(from decoder: any Decoder) throws {
            source = try decoder.container(keyedBy: CodingKeys.self).decode(Name.self, forKey: .source)
            figures = try Figures(from: decoder)
        }
    }

    struct Interval: Decodable {
        var from, to: String
        var figures: Figures
        var sources: [Source]?

        private enum CodingKeys: CodingKey { case from, to, sources }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            from = try members.decode(String.self, forKey: .from)
            to = try members.decode(String.self, forKey: .to)
            sources = try members.decodeIfPresent([Source].self, forKey: .sources)
            figures = try Figures(from: decoder)
        }
    }

    var type, person, unit: String
    var intervals: [Interval]

    /// The figures that were asked for.
    var figures: [StatsFigure] { intervals.first?.figures.asked ?? [] }

    /// A header and a line for each interval, and each source where that was asked for (RFC 4180).
    func csv() -> [String] {
        let figures = figures
        let hasSources = intervals.contains { $0.sources != nil }
        func line(_ cells: [String]) -> String {
            cells.map { cell in
                cell.contains { ",\"\r\n".contains($0) } ? "\"\(cell.replacing("\"", with: "\"\""))\"" : cell
            }.joined(separator: ",")
        }
        func numbers(_ row: Figures) -> [String] {
            ["\(row.count)"] + figures.map { row[$0].map(NumberText.shortest) ?? "" }
        }
        let header = ["from", "to", "type", "person", "unit"] + (hasSources ? ["source"] : []) + ["count"]
        var lines = [line(header + figures.map(\.rawValue))]
        for interval in intervals {
            let begin = [interval.from, interval.to, type, person, unit]
            lines.append(line(begin + (hasSources ? [""] : []) + numbers(interval.figures)))
            for source in interval.sources ?? [] {
                lines.append(line(begin + [source.source.text] + numbers(source.figures)))
            }
        }
        return lines
    }
}
