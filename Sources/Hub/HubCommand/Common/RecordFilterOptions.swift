import ArgumentParser
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples

/// Types as plain arguments or each after `--type`; commands that remove records accept only the second form.
struct TypeNames: ParsableArguments {
    @Argument(help: ArgumentHelp("Types, or other names of them.", valueName: "types")) var words: [String] = []
    @Option(name: .customLong("type"), help: ArgumentHelp("Only of this type; may be repeated.", valueName: "type"))
    var named: [String] = []

    var all: [String] { words + named }
}

/// The records that a command is about, in addition to their types.
struct RecordFilterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only records of this person; may be repeated.", valueName: "name"))
    var person: [String] = []
    @Option(
        help: ArgumentHelp("Only records that end at or after this.", valueName: "when"), transform: DateArgument.parsed
    )
    var from: DateArgument?
    @Option(
        help: ArgumentHelp("Only records that begin before the end of this.", valueName: "when"),
        transform: DateArgument.parsed)
    var to: DateArgument?
    @Option(help: ArgumentHelp("Only from plugins of this kind; may be repeated.", valueName: "kind"))
    var source: [String] = []

    var isEmpty: Bool { person.isEmpty && from == nil && to == nil && source.isEmpty }

    /// - Parameters:
    ///   - types: ids; empty for all types.
    ///   - clock: the clock that defines days.
    /// - Throws: ``HubExit/usage`` for a span that ends before it begins.
    func filter(_ types: [String], by clock: PersonClock) throws(Failure) -> QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        func some(_ list: [String]) -> [String]? { list.isEmpty ? nil : list }
        (filter.types, filter.persons, filter.sources) = (some(types), some(person), some(source))
        (filter.from, filter.to) = try DateArgument.span(from: from, to: to, by: clock)
        return filter
    }
}

/// The records that a command removes.
struct RecordSelectionOptions: ParsableArguments {
    @Option(name: .customLong("type"), help: ArgumentHelp("Only of this type; may be repeated.", valueName: "type"))
    var types: [String] = []
    @OptionGroup var only: RecordFilterOptions

    var isEmpty: Bool { types.isEmpty && only.isEmpty }

    /// - Throws: ``HubExit/usage`` for an unknown type, and for a span that ends before it begins.
    func filter(_ welcome: Welcome) throws(Failure) -> QueryRequest.Filter {
        try only.filter(try TypeArgument.resolved(types), by: welcome.clock(of: only.person))
    }
}

extension Welcome {
    /// The person of `hub.conf` with the typed name.
    func person(_ typed: String) throws(Failure) -> PersonEntry {
        if let person = persons.named(typed) { return person }
        throw Failure(
            .usage,
            "hub.conf has no person \(Terminal.cut(typed)), as far as hub apply has read it; \(persons.advice(on: typed))"
        )
    }

    /// The only person, for a command that names none.
    func onlyPerson() throws(Failure) -> PersonEntry {
        if persons.count == 1 { return persons[0] }
        throw Failure(
            .usage,
            persons.isEmpty
                ? "hub.conf has no person; hub configure --person NAME locale=en_GB adds one"
                : "several persons are possible; name one with --person: \(persons.map(\.bothNames).joined(separator: ", "))"
        )
    }

    /// The clock for the days and moments of a command: that of the only person it is about, else that of `[hub]`.
    ///
    /// - Parameter names: the persons that the command names; empty for all.
    func clock(of names: [String]) throws(Failure) -> PersonClock {
        let meant = names.isEmpty ? persons : names.compactMap { persons.named($0) }
        let zone = meant.count == 1 && names.count < 2 ? meant[0].zone : nil
        return try Failure.entryValue { () throws(EntryError) in try PersonClock(zone: zone, now: time.microseconds) }
    }
}

extension DateArgument {
    /// From the first instant of `from` to the first instant after `to`.
    static func span(
        from: DateArgument?, to: DateArgument?, by clock: PersonClock
    ) throws(Failure) -> (from: Timestamp?, to: Timestamp?) {
        let (start, end) = (from?.start(by: clock), to?.end(by: clock))
        for date in [from, to] {
            if let date, date.isBeyondRecords(by: clock) {
                throw Failure(
                    .usage,
                    "no record has the time \(date.text): they go from \(Timestamp(microseconds: Timestamp.range.lowerBound).text) to \(Timestamp(microseconds: Timestamp.range.upperBound).text)"
                )
            }
        }
        if let start, let end, start.microseconds >= end.microseconds {
            throw Failure(.usage, "--from \(from?.text ?? "") is not before --to \(to?.text ?? "")")
        }
        return (start, end)
    }

    /// Parses a value for ArgumentParser; the error lists the allowed forms.
    static func parsed(_ text: String) throws -> DateArgument {
        guard let date = DateArgument(text) else {
            throw ValidationError("'\(text)' is none of: \(forms)" + (meant(text).map { "; \($0)" } ?? ""))
        }
        return date
    }

    /// The fault of a text that is nearly a date.
    private static func meant(_ text: String) -> String? {
        if text.wholeMatch(of: /\d{4}-\d\d?-\d\d?/) != nil {
            return "the calendar has no such day, or digits are missing"
        }
        if text.wholeMatch(of: /\d\d?\.\d\d?\.\d{4}/) != nil { return "the calendar has no such day" }
        if let parts = text.wholeMatch(of: /\d\d?\/\d\d?\/(\d{4})/) {
            return "it is read in two ways: write \(parts.1)-MM-DD"
        }
        guard let parts = text.wholeMatch(of: /(\d+) ?(minute|min|hour|day|week|year)s?/) else { return nil }
        return "write \(parts.1)\(parts.2.hasPrefix("min") ? "min" : String(parts.2.prefix(1)))"
    }
}
