import ArgumentParser
import HubClient
import HubWire
import Samples

/// The records that a bridge passes on.
struct BridgeFilterOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Types, or other names of them; all if not given.", valueName: "type"))
    var types: [String] = []
    @Option(help: ArgumentHelp("Only records of this person; may be repeated.", valueName: "name"))
    var person: [String] = []
    @Option(
        help: ArgumentHelp(
            "Only records of this kind, such as quantity or day; may be repeated. Days come only if you name them.",
            valueName: "kind"),
        transform: Self.kind)
    var kind: [RecordKind] = []

    private static func kind(_ text: String) throws -> RecordKind {
        guard let kind = RecordKind(rawValue: text) else {
            throw ValidationError(
                "'\(text)' is none of: \(RecordKind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return kind
    }

    func filter() throws(Failure) -> QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        if !types.isEmpty { filter.types = try TypeArgument.resolved(types) }
        if !person.isEmpty { filter.persons = person }
        if !kind.isEmpty { filter.kinds = kind }
        return filter
    }
}
