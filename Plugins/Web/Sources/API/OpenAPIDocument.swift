import CHealthSchemas
import HTTPTypes
import JSON

/// The OpenAPI 3.1 document, made from ``API/routes`` and Docs/Schemas.
enum OpenAPIDocument {
    /// - Parameter cookie: the cookie of browsers that come as the document's reader does; its path is that of the API, too.
    static func document(for cookie: SessionCookie) -> [UInt8] {
        guard cookie.base == .none else { return make(cookie) }
        return cookie.isSecure ? secure : plain
    }

    private static let plain = make(SessionCookie(isSecure: false, base: .none))
    private static let secure = make(SessionCookie(isSecure: true, base: .none))

    private static func make(_ cookie: SessionCookie) -> [UInt8] {
        JSONTree.object([
            .init("openapi", "3.1.0"),
            .init(
                "info",
                [
                    "title": "health hub", "version": "1",
                    "description": "Numbers are those of the hub, with every digit. Errors are problems (RFC 9457).",
                ]), .init("servers", [["url": .text(cookie.base.address(of: API.root))]]),
            .init("security", [["token": []], ["session": []]]),
            .init("tags", .list(API.topics.map { ["name": .text($0.0)] })), .init("paths", .object(paths)),
            .init("components", components(cookie.name)),
        ]).bytes
    }

    private static var paths: [JSONTree.Member] {
        var paths: [JSONTree.Member] = []
        for (topic, route) in API.topics.flatMap({ topic, routes in routes.map { (topic, $0) } }) {
            let operation = JSONTree.Member(route.method.rawValue.lowercased(), describe(route, topic))
            if let index = paths.firstIndex(where: { $0.name == route.path }) {
                paths[index].value = .object((paths[index].value.members ?? []) + [operation])
            } else {
                paths.append(.init(route.path, .object([operation])))
            }
        }
        return paths
    }

    private static func describe(_ route: APIRoute, _ topic: String) -> JSONTree {
        var members: [JSONTree.Member] = [
            .init("operationId", .text(name(route))), .init("tags", .list([.text(topic)])),
            .init("summary", .text(route.summary)), .init("description", .text(rights(route))),
            .init("parameters", .list(route.parameters.map(\.description))),
        ]
        if let body = route.body {
            members.append(.init("requestBody", ["required": true, "content": ["application/json": ["schema": body]]]))
        }
        let content: JSONTree = .object([.init(route.answer.type, ["schema": route.answer.schema])])
        var answers: [JSONTree.Member] = [
            .init("200", ["description": .text(route.answer.help), "content": content])
        ]
        for (status, help) in refusals(route) {
            answers.append(.init(status, ["description": .text(help), "content": problem]))
        }
        members.append(.init("responses", .object(answers)))
        return .object(members)
    }

    private static let problem: JSONTree = [
        "application/problem+json": ["schema": ["$ref": "#/components/schemas/problem"]]
    ]

    /// For example `getRecordsNumberTrace`.
    private static func name(_ route: APIRoute) -> String {
        let words = route.path.split { !$0.isLetter }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return route.method.rawValue.lowercased() + words.joined()
    }

    private static func rights(_ route: APIRoute) -> String {
        "Takes the scope \(route.scope)" + (route.isOwners ? ", and is the owner's alone." : ".")
    }

    private static func refusals(_ route: APIRoute) -> [(String, String)] {
        var refusals = [
            ("400", "A parameter or the body is not valid."), ("401", "No token, or an unknown one."),
            ("403", "The token's scope, or hub.conf, does not allow it."),
            ("404", "There is no such thing, or it is another's."), ("409", "Parameters that do not go together."),
            ("410", "The cursor is of a store that was replaced: begin again."),
            ("421", "A host name that this page does not have."),
            ("422", "The hub does not take it; code and detail say why."),
            ("429", "Too many requests at a time: try again later."), ("502", "The hub has not answered."),
            ("503", "The hub is busy: try again later."), ("504", "It took too long; the hub may have done it."),
        ]
        if route.body != nil { refusals += [("413", "The body is too long."), ("415", "The body is not JSON.")] }
        return refusals.sorted { $0.0 < $1.0 }
    }

    // MARK: - Components

    private static func components(_ cookie: String) -> JSONTree {
        var schemas: [JSONTree.Member] = [
            .init(
                "problem",
                [
                    "type": "object",
                    "properties": [
                        "title": ["type": "string"], "status": ["type": "integer"], "detail": ["type": "string"],
                        "code": ["type": "string", "description": "A word for programs."],
                        "member": ["type": "string", "description": "What of the request is wrong."],
                    ], "required": ["title", "status", "detail"],
                ])
        ]
        var index = 0
        while let file = health_schema_at(index)?.pointee {
            index += 1
            let name = String(cString: file.name)
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.size))
            guard let tree = JSONTree(bytes) else { preconditionFailure("Docs/Schemas: \(name) is not JSON") }
            schemas.append(.init(name, moved(tree, in: name)))
        }
        return [
            "securitySchemes": [
                "token": ["type": "http", "scheme": "bearer", "description": "Of hub web token new."],
                "session": [
                    "type": "apiKey", "in": "cookie", "name": .text(cookie),
                    "description":
                        "A browser that is logged in; to write it sends hub-form-token of its localStorage as X-Form-Token.",
                ],
            ], "schemas": .object(schemas),
        ]
    }

    /// Rewrites references between files to references within this document.
    private static func moved(_ tree: JSONTree, in file: String) -> JSONTree {
        switch tree {
        case .list(let items): return .list(items.map { moved($0, in: file) })
        case .object(let members):
            return .object(
                members.filter { $0.name != "$schema" }.map { member in
                    guard member.name == "$ref", let text = member.value.text else {
                        return .init(member.name, moved(member.value, in: file))
                    }
                    return .init("$ref", .text("#/components/schemas/\(place(text, in: file))"))
                })
        default: return tree
        }
    }

    /// `../common.json#/$defs/time` → `common/$defs/time`.
    private static func place(_ reference: String, in file: String) -> String {
        let parts = reference.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0].split(separator: "/").last.map { String($0.dropLast(".json".count)) } ?? file
        return name + (parts.count > 1 ? parts[1] : "")
    }
}
