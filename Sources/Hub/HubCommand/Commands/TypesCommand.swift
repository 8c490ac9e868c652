import ArgumentParser
import HealthText
import HubClient
import Samples

struct TypesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types", abstract: "List all types with their units and everyday names.",
        discussion: """
            Commands take a type by its name here, in any case, or by an everyday name:
            hub stats steps, hub log "body fat" 18.2. UNITS are those in which people read
            the type, the usual one first; a number without a unit is in the person's unit
            (unit, units and locale in hub.conf). Plugins may declare more types (hub
            plugins NAME).

            Examples:
              hub types
              hub types sleep                    a name or a part of one; its values, too
              hub types --json | jq -r 'select(.kind=="quantity") | .type'

            Exit codes: 0; 1 no type has the word.
            """)

    @Argument(help: "A name, or a part of one.") var word: String?
    @Flag(help: "A JSON object a line: {\"type\",\"name\",\"kind\",\"unit\"?,\"units\",\"alsoCalled\",\"values\"}.")
    var json = false

    private struct Entry: Encodable {
        let type, name, kind: String
        /// The unit in which it is stored.
        let unit: String?
        /// The units in which people read it; its other names; its values.
        let units, alsoCalled, values: [String]

        init(_ type: HealthType) {
            (self.type, name, kind, unit) = (type.id.rawValue, type.displayName, type.kind.rawValue, type.unit)
            units = TypesCommand.units(of: type)
            alsoCalled = EverydayNames.names(of: type)
            values = type.values.filter { !$0.isOldName }.map(\.name)
        }

        func has(_ word: String) -> Bool {
            ([type, name] + alsoCalled).contains { $0.lowercased().contains(word) }
        }
    }

    private static func units(of type: HealthType) -> [String] {
        type.typicalDisplayUnits.reduce(into: []) { units, unit in
            let spelled = unit.contains("+") ? unit : PeopleUnit(unit).spelling
            if !units.contains(spelled) { units.append(spelled) }
        }
    }

    func run() throws {
        var entries = TypeRegistry.standard.all.map(Entry.init)
        let meant = word.flatMap(EverydayNames.type)?.id.rawValue
        if let word {
            entries = entries.filter { $0.type == meant || $0.has(word.lowercased()) }
            guard !entries.isEmpty else { throw Failure(.unhealthy, TypeArgument.unknown(word)) }
        }
        var output = Output()
        if json {
            for entry in entries { try output.json(Array(try JSON.line(entry).utf8)[...]) }
            return try output.flush()
        }
        var table = Table(["TYPE", "WHAT", "UNITS", "ALSO CALLED"])
        for entry in entries {
            table.add([
                entry.type, entry.name, entry.units.joined(separator: ", "), entry.alsoCalled.joined(separator: ", "),
            ])
        }
        for line in table.takeLines() { try output.line(line) }
        for entry in entries where !entry.values.isEmpty && (entry.type == meant || entries.count <= Self.detailed) {
            try output.line("\(entry.type) is one of \(entry.values.joined(separator: ", "))")
        }
        try output.flush()
    }

    /// Maximum number of types that are shown with their values.
    private static let detailed = 5
}
