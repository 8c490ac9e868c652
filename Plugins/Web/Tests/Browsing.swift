import Foundation
import Testing

/// Fills in forms and presses buttons, as a person does.
struct Browser: Sendable {
    let scene: Scene
    let cookie: String

    init(_ scene: Scene, _ person: String? = nil) async throws {
        (self.scene, cookie) = (scene, try await scene.logIn(person))
    }

    func get(_ path: String) async throws -> Scene.Answer { try await scene.get(path, cookie: cookie) }

    /// A form of a page: its action and its fields.
    struct Form {
        let action: String
        var fields: [String: String]

        subscript(_ name: String) -> String? {
            get { fields[name] }
            set { fields[name] = newValue }
        }
    }

    /// The forms of a page whose action begins with this text.
    static func forms(_ page: String, to beginning: String) -> [Form] {
        page.components(separatedBy: "<form").dropFirst().compactMap { part in
            let form = part.components(separatedBy: "</form>")[0]
            guard let action = attribute("action", of: form), action.hasPrefix(beginning),
                form.contains("method=\"post\"")
            else { return nil }
            var fields: [String: String] = [:]
            for input in form.components(separatedBy: "<input").dropFirst() {
                let tag = input.components(separatedBy: ">")[0]
                if let name = attribute("name", of: tag) { fields[name] = attribute("value", of: tag) ?? "" }
            }
            for area in form.components(separatedBy: "<textarea").dropFirst() {
                if let name = attribute("name", of: area) {
                    fields[name] = text(area.components(separatedBy: ">")[1].components(separatedBy: "<")[0])
                }
            }
            for select in form.components(separatedBy: "<select").dropFirst() {
                let options = select.components(separatedBy: "</select>")[0].components(separatedBy: "<option")
                    .dropFirst()
                let chosen = options.first { $0.components(separatedBy: ">")[0].contains(" selected") } ?? options.first
                if let name = attribute("name", of: select) {
                    fields[name] = chosen.flatMap { attribute("value", of: $0) }
                }
            }
            return Form(action: text(action), fields: fields)
        }
    }

    private static func attribute(_ name: String, of tag: String) -> String? {
        guard let start = tag.range(of: " \(name)=\"")?.upperBound,
            let end = tag.range(of: "\"", range: start..<tag.endIndex)?.lowerBound
        else { return nil }
        return text(String(tag[start..<end]))
    }

    private static func text(_ markup: String) -> String {
        markup.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
    }

    func form(_ path: String, to beginning: String? = nil) async throws -> Form {
        try await get(path).form(to: beginning ?? path)
    }

    func send(_ form: Form, _ changes: [String: String] = [:]) async throws -> Scene.Answer {
        let fields = form.fields.merging(["token": Scene.formToken]) { $1 }.merging(changes) { $1 }
        let body = fields.map { "\(Self.escaped($0.key))=\(Self.escaped($0.value))" }.joined(separator: "&")
        return try await scene.post(form.action, body, cookie: cookie)
    }

    /// Sends fields as a form of a page.
    func post(_ path: String, _ fields: String) async throws -> Scene.Answer {
        try await scene.post(path, "token=\(Scene.formToken)&\(fields)", cookie: cookie)
    }

    /// Sends a form and follows the redirect.
    func press(_ form: Form, _ changes: [String: String] = [:]) async throws -> Scene.Answer {
        let answer = try await send(form, changes)
        #expect(answer.status == 303, "\(answer.body)")
        return try await get(try #require(answer.fields["location"]))
    }

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}

extension Scene.Answer {
    /// The first form of the page whose action begins with this text.
    func form(to beginning: String) throws -> Browser.Form {
        try #require(Browser.forms(body, to: beginning).first, "\(beginning): \(status) \(body)")
    }
}
