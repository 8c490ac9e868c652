import Foundation
import HTTPTypes
import HealthText
import Hummingbird
import JSON
import NIOCore
import PluginKit

/// One address of the API: its access rule, parameters, answer and handler.
///
/// The router and the OpenAPI document are both made from these, so no address lacks a description.
struct APIRoute: Sendable {
    /// The answer to a successful request.
    struct Answer: Sendable {
        let help: String
        let schema: JSONTree
        let type: String

        init(_ help: String, _ schema: JSONTree, type: String = "application/json") {
            (self.help, self.schema, self.type) = (help, schema, type)
        }
    }

    typealias Handler = @Sendable (APICall) async throws -> Response

    let method: HTTPRequest.Method
    /// The path below `/api/v1`, with parameters in braces.
    let path: String
    let summary: String
    let scope: Scope
    /// Whether only the owner may use it; others get the answer for an unknown address.
    let isOwners: Bool
    let parameters: [APIParameter]
    /// The form of the body, if it takes one.
    let body: JSONTree?
    let answer: Answer
    let handle: Handler

    /// An address that reads.
    static func get(
        _ path: String, _ summary: String, isOwners: Bool = false, _ parameters: [APIParameter] = [], answer: Answer,
        handle: @escaping Handler
    ) -> APIRoute {
        APIRoute(
            method: .get, path: path, summary: summary, scope: .read, isOwners: isOwners, parameters: parameters,
            body: nil, answer: answer, handle: handle)
    }

    /// An address that changes something; with the scope ``Scope/manage`` only for the owner.
    static func post(
        _ path: String, _ summary: String, scope: Scope = .manage, _ parameters: [APIParameter], body: JSONTree? = nil,
        answer: Answer, handle: @escaping Handler
    ) -> APIRoute {
        APIRoute(
            method: .post, path: path, summary: summary, scope: scope, isOwners: scope == .manage,
            parameters: parameters, body: body, answer: answer, handle: handle)
    }

    /// An address that runs a command of the hub, which ``OwnCommands`` declares, and answers its result.
    ///
    /// - Parameters:
    ///   - path: an address that gives arguments; by default the command's name, with all its arguments in the body.
    ///   - parameters: those besides `dryRun`.
    ///   - answer: the result in words.
    static func command<Command: OwnCommand>(
        _ command: Command.Type, at path: String? = nil, _ summary: String, scope: Scope = .manage,
        _ parameters: [APIParameter] = [], body: JSONTree? = nil, answer: String, handle: @escaping Handler
    ) -> APIRoute {
        let takesAll = path == nil && !Command.declaration.arguments.isEmpty
        return post(
            path ?? "/\(Command.name)", summary, scope: scope, parameters + [Parameters.dryRun],
            body: takesAll ? Schemas.ref("\(Command.name)/$defs/args") : body,
            answer: Answer(answer, Schemas.ref("\(Command.name)/$defs/result")), handle: handle)
    }
}

/// A request whose parameters have been checked.
struct APICall: Sendable {
    let request: Request
    let visit: WebRequestContext
    let viewer: Viewer
    let parts: WebParts
    private let values: [String: [String]]

    /// - Throws: ``RequestRefusal`` that names the problem.
    init(_ route: APIRoute, _ request: Request, _ visit: WebRequestContext, _ parts: WebParts) throws {
        guard let viewer = visit.viewer else { throw noSuchPage }
        guard viewer.isOwner || !route.isOwners else { throw noSuchPage }
        guard viewer.scope >= route.scope else {
            throw RequestRefusal(
                .forbidden, "This token may not do that",
                "It has the scope \(viewer.scope), and this takes \(route.scope): hub web token new NAME --scope \(route.scope)."
            )
        }
        (self.request, self.visit, self.viewer, self.parts) = (request, visit, viewer, parts)
        var values: [String: [String]] = [:]
        for (name, value) in request.uri.queryParameters { values[String(name), default: []].append(String(value)) }
        let query = route.parameters.filter { $0.place == .query }
        if let other = values.keys.sorted().first(where: { name in !query.contains { $0.name == name } }) {
            throw RequestRefusal(
                .badRequest, "There is no parameter \(other)",
                "It takes \(query.isEmpty ? "none" : query.map(\.name).joined(separator: ", ")).", member: other)
        }
        for parameter in route.parameters {
            switch parameter.place {
            case .path: values[parameter.name] = [try visit.parameters.require(parameter.name)]
            case .header:
                values[parameter.name] = HTTPField.Name(parameter.name).flatMap { request.headers[$0] }.map { [$0] }
            case .query: break
            }
            let found = values[parameter.name] ?? []
            guard parameter.isList || found.count <= 1 else { throw parameter.refusal("it is given several times") }
            guard found.count <= 100 else { throw parameter.refusal("it is given more than 100 times") }
            guard !parameter.isRequired || !found.isEmpty else { throw parameter.refusal("it is missing") }
            for value in found { try parameter.check(value) }
        }
        self.values = values
    }

    func text(_ name: String) -> String? { values[name]?.first }
    func texts(_ name: String) -> [String]? { values[name] }
    func integer(_ name: String) -> Int64? { text(name).flatMap { Int64($0) } }
    func time(_ name: String) -> Timestamp? { text(name).flatMap { try? Timestamp(parsing: $0) } }
    func cursor(_ name: String) -> Cursor? { text(name).flatMap { Cursor($0) } }
    func truth(_ name: String) -> Bool { text(name) == "true" }

    /// The person in the request; nil for everybody's values, which only the owner may read.
    ///
    /// - Throws: ``RequestRefusal``, with the same text for an unknown person and for one that this viewer may not see.
    func person() throws -> String? {
        guard let name = text("person") else { return viewer.person }
        guard let person = viewer.persons(parts.hub.persons).named(name) else {
            throw RequestRefusal(
                .notFound, "There is no such person", "person: GET /api/v1/persons lists the persons.",
                member: "person")
        }
        return person.name
    }

    /// The ids of the types in the request; nil for all types.
    ///
    /// - Throws: ``RequestRefusal`` for an unknown type.
    func types() throws -> [String]? {
        try texts("type")?.map { name in
            if let type = EverydayNames.type(name) { return type.id.rawValue }
            guard name.hasPrefix("x.") || name.hasPrefix("hc."), (try? TypeID(name)) != nil else {
                throw RequestRefusal(
                    .notFound, "There is no such type", "type: GET /api/v1/types lists the types.", member: "type")
            }
            return name
        }
    }
}
