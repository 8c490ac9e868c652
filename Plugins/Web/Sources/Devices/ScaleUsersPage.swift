import Foundation
import Hummingbird
import PluginKit

/// The users stored in a scale, listed and changed by its plugin's commands; for the owner.
struct ScaleUsersPage: Sendable {
    let parts: WebParts

    static func path(_ instance: String) -> String { "/devices/\(instance)/users" }

    /// A user in the plugin's answer.
    private struct User: Decodable {
        var position: Int
        var serialNumber: UInt32
        var person: String?
    }

    /// The instance in the address; its kind must have users.
    private func instance(_ visit: WebRequestContext) async throws -> String {
        let plugins = try await parts.hub.hubStatus().plugins
        guard let name = visit.parameters.get("instance"),
            plugins.contains(where: { $0.name == name && $0.kind == DevicesPage.withUsers && $0.enabled })
        else { throw noSuchPage }
        return name
    }

    func show(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let instance = try await instance(visit)
        let choice = try SelectedPerson(request, visit, parts)
        let frame = PageFrame(title: "Users of \(instance)", choice: choice)
        if let denial = frame.denial(.commands, parts.grants, to: "Seeing the users of a scale") { return denial }
        let answer: RawJSON?
        do {
            answer = try await parts.hub.command("users-list", of: instance, deadline: .seconds(8))
        } catch let failure as CommandFailure {
            return frame.page(
                """
                <p class="fault" role="alert">\(failure.message)</p>
                <p>A scale sleeps until someone steps on it: wake it, and <a href="\(url: Self.path(instance))">ask again</a>.</p>
                """)
        }
        let users = try JSONDecoder().decode([User].self, from: Data((answer ?? RawJSON(trusted: [0x5B, 0x5D])).bytes))
        return frame.page(list(users, instance, choice))
    }

    private func list(_ users: [User], _ instance: String, _ choice: SelectedPerson) -> HTML {
        let table = HTML.table("On the scale", ["Position", "Number", "Person", "What to do"], users) { user in
            [
                "\(user.position)", "\(user.serialNumber)",
                "\(user.person.map(choice.shownName) ?? "not one of this hub")",
                HTML.button(Self.path(instance), "Delete", [("deed", "delete"), ("serial", "\(user.serialNumber)")]),
            ]
        }
        let absent = choice.persons.filter { person in !users.contains { $0.person == person.name } }
        let makers = HTML.each(absent) {
            HTML.button(
                Self.path(instance), "Make a user for \($0.shownName)", [("deed", "create"), ("person", $0.name)]
            )
        }
        return """
            \(users.isEmpty ? "<p>The scale has no users.</p>" : table)
            <div class="deeds">\(makers)</div>
            <p class="hint">Height, sex and date of birth come from hub.conf. Deleting a user also deletes their weighings in the scale's memory.</p>
            """
    }

    /// Creates a user, or deletes one after a confirmation.
    func change(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let instance = try await instance(visit)
        let choice = try SelectedPerson(request, visit, parts)
        switch form["deed"] {
        case "create":
            let person = try form.text("person")
            _ = try await parts.hub.command(
                "users-create", of: instance, ["person": .string(person)], deadline: .seconds(15))
            parts.notices.put("The scale has a user for \(person) now.", for: viewer)
        case "delete" where form["sure"] == nil:
            let serial = try form.text("serial")
            let button = HTML.button(
                Self.path(instance), "Delete the user", [("deed", "delete"), ("serial", serial), ("sure", "yes")])
            return PageFrame(title: "Delete user \(serial) of the scale?", choice: choice).page(
                """
                <p>This also deletes the user's weighings in the scale's memory. The hub's records stay.</p>
                \(button)
                <p><a href="\(url: Self.path(instance))">Not now</a></p>
                """)
        case "delete":
            let serial = try form.number("serial")
            _ = try await parts.hub.command(
                "users-delete", of: instance, ["serial": .integer(serial)], deadline: .seconds(15))
            parts.notices.put("The user \(serial) is no longer on the scale.", for: viewer)
        default: throw RequestRefusal(.badRequest, "The form lacks deed", "Open the page again, and press its button.")
        }
        return PageAnswer.redirect(to: Self.path(instance))
    }
}
