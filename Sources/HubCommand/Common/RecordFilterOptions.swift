import ArgumentParser
import Foundation
import HubClient
import HubWire
import Samples

/// Which records a command is about, besides their types.
struct RecordFilterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only of this person; may be repeated.", valueName: "name"))
    var person: [String] = []
    @Option(help: ArgumentHelp("Only what ends at or after this.", valueName: "when"), transform: DateArgument.parsed)
    var from: DateArgument?
    @Option(
        help: ArgumentHelp("Only what begins before the end of this.", valueName: "when"),
        transform: DateArgument.parsed)
    var to: DateArgument?
    @Option(help: ArgumentHelp("Only from plugins of this kind; may be repeated.", valueName: "kind"))
    var source: [String] = []

    var isEmpty: Bool { person.isEmpty && from == nil && to == nil && source.isEmpty }

    /// The span that is meant, from its first instant to the first after it.
    /// - Parameters:
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - zone: whose midnights count.
    func span(now: Int64, zone: TimeZone) throws(Failure) -> (from: Timestamp?, to: Timestamp?) {
        let (start, end) = (from?.start(now: now, zone: zone), to?.end(now: now, zone: zone))
        if let start, let end, start.microseconds >= end.microseconds {
            throw Failure(.usage, "--from \(from?.text ?? "") is not before --to \(to?.text ?? "")")
        }
        return (start, end)
    }
}

/// Which records a command takes away.
struct RecordSelectionOptions: ParsableArguments {
    @Option(
        name: .customLong("type"), help: ArgumentHelp("Only of this type; may be repeated.", valueName: "type"))
    var types: [String] = []
    @OptionGroup var only: RecordFilterOptions

    var isEmpty: Bool { types.isEmpty && only.isEmpty }

    /// - Parameter now: microseconds since 1970, by the hub's clock.
    /// - Throws: ``HubExit/usage`` for what is not a type, and for a span that ends before it begins.
    func filter(now: Int64, zone: TimeZone = .current) throws(Failure) -> QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        func some<Element>(_ list: [Element]) -> [Element]? { list.isEmpty ? nil : list }
        filter.types = some(try TypeArgument.resolved(types))
        (filter.persons, filter.sources) = (some(only.person), some(only.source))
        (filter.from, filter.to) = try only.span(now: now, zone: zone)
        return filter
    }
}

extension DateArgument {
    /// As ArgumentParser takes it, with what may stand there in the error.
    static func parsed(_ text: String) throws -> DateArgument {
        guard let date = DateArgument(text) else {
            throw ValidationError("'\(text)' is none of: \(forms)" + (meant(text).map { "; \($0)" } ?? ""))
        }
        return date
    }

    /// What is wrong with a text that is nearly a date.
    private static func meant(_ text: String) -> String? {
        if text.wholeMatch(of: /\d{4}-\d\d?-\d\d?/) != nil {
            return "the calendar has no such day, or digits are missing"
        }
        if let parts = text.wholeMatch(of: /(\d\d?)\.(\d\d?)\.(\d{4})/),
            let date = LocalDate("\(parts.3)-\(two(parts.2))-\(two(parts.1))")
        {
            return "write \(date.text)"
        }
        guard let parts = text.wholeMatch(of: /(\d+) ?(minute|min|hour|day|week|year)s?/) else { return nil }
        return "write \(parts.1)\(parts.2.hasPrefix("min") ? "min" : String(parts.2.prefix(1)))"
    }

    private static func two(_ digits: Substring) -> String { digits.count == 1 ? "0\(digits)" : String(digits) }
}
