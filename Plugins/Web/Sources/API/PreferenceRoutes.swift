import Hummingbird
import JSON
import PluginKit

/// The units in which a person reads values on the pages.
enum PreferenceRoutes {
    private static let units: JSONTree = ["type": "object", "additionalProperties": ["type": "string"]]
    private static let answer = APIRoute.Answer(
        "The chosen units by type; hub.conf decides the others.",
        Schemas.object([("person", ["type": "string"]), ("units", units)]))

    static let all: [APIRoute] = [
        .get(
            "/preferences", "In which units a person reads values on the pages.", [Parameters.onePerson],
            answer: answer
        ) { call in
            let person = try call.onePerson()
            return .json(told(person, call.parts.preferences.units(of: person)))
        },
        .post(
            "/preferences", "Chooses units by type; for an empty one hub.conf decides.", scope: .write,
            [Parameters.onePerson, Parameters.dryRun], body: units, answer: answer
        ) { call in
            let person = try call.onePerson()
            let chosen = try await call.arguments().sorted { $0.key < $1.key }
            let book = call.parts.preferences
            let units = try Units.changed(book.units(of: person), by: chosen.map { ($0.key, $0.value.string) })
            if !call.truth("dryRun") { try await book.set(units, of: person) }
            return .json(told(person, units))
        },
    ]

    private static func told(_ person: String, _ units: [String: String]) -> JSONTree {
        ["person": .text(person), "units": object(units)]
    }

    /// Units by type, in the order of their names.
    static func object(_ units: [String: String]) -> JSONTree {
        .object(units.sorted { $0.key < $1.key }.map { .init($0.key, .text($0.value)) })
    }
}

extension APICall {
    /// The person in the request, or the only person.
    ///
    /// - Throws: ``RequestRefusal`` if there are several.
    func onePerson() throws -> String {
        if let person = try person() { return person }
        let persons = parts.hub.persons.map(\.name)
        guard persons.count == 1 else {
            throw RequestRefusal(
                .unprocessableContent, "Whose?",
                "person: it is missing, and there \(persons.isEmpty ? "is none" : "are several").", member: "person")
        }
        return persons[0]
    }
}
