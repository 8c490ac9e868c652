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
        transform: RecordKind.named)
    var kind: [RecordKind] = []

    func filter() throws(Failure) -> QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        if !types.isEmpty { filter.types = try TypeArgument.resolved(types) }
        if !person.isEmpty { filter.persons = person }
        if !kind.isEmpty { filter.kinds = kind }
        return filter
    }
}
