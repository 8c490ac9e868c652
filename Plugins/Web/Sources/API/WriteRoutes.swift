import Foundation
import HTTPTypes
import HealthText
import Hummingbird
import JSON
import NIOCore
import PluginKit

/// Changes by hand: the hub's commands, with their arguments as the body.
enum WriteRoutes {
    static let all: [APIRoute] = [
        .command(
            OwnCommands.Log.self, "Enters a record, or a group of them.", scope: .write, answer: "The result."
        ) { call in
            var arguments = try await call.arguments()
            if let own = call.viewer.person {
                try call.checkPerson(arguments["person"])
                arguments["person"] = .string(own)
            }
            return try await call.byHand(.log, arguments)
        },
        .command(
            OwnCommands.Edit.self, "Corrects a sample, or with undo takes its edits away.", scope: .write,
            [Parameters.version], answer: "The result."
        ) { call in try await call.byHand(.edit, try await call.arguments(of: "number")) },
        .command(
            OwnCommands.Retract.self, "Takes records back, or with undo takes that back.", scope: .write,
            [Parameters.version], answer: "The result for each record."
        ) { call in try await call.byHand(.retract, try await call.arguments(of: "numbers")) },
        .command(
            OwnCommands.Assign.self, "Assigns samples to a person.", [Parameters.version],
            answer: "The result for each record."
        ) { call in try await call.assign() },
        .get(
            "/inbox",
            "The newest records that wait for a person, and the newest that look wrong; none of a guest.",
            isOwners: true, [Parameters.limit(1_000, "Of each; not given: 100.")],
            answer: .init(
                "Records, the newest first.",
                Schemas.object(["unassigned", "implausible"].map { ($0, Schemas.list(Schemas.ref("record"))) })),
            handle: inbox),
    ]

    @Sendable private static func inbox(_ call: APICall) async throws -> Response {
        func newest(_ change: (inout QueryRequest.Filter) -> Void) async throws -> [UInt8] {
            var query = QueryRequest(id: 0, order: .newestFirst, limit: call.integer("limit") ?? 100)
            query.filter.isGuest = false
            change(&query.filter)
            var found = RawRecords()
            repeat {
                let answer = try await call.parts.hub.records(query)
                for record in answer.records { found.append(record) }
                query.next = answer.next
            } while query.next != nil
            return found.joined
        }
        let unassigned = try await newest { $0.isOfNoPerson = true }
        let implausible = try await newest { $0.isImplausible = true }
        return .json(
            Array(#"{"unassigned":["#.utf8) + unassigned + Array(#"],"implausible":["#.utf8) + implausible
                + Array("]}".utf8))
    }
}

extension APICall {
    /// More than the arguments of any command need.
    private static let maximumBytes = 65_536

    /// The body: arguments of a hub command, by name.
    ///
    /// - Throws: ``RequestRefusal`` if the body is not a JSON object, or has values that no command takes.
    func arguments() async throws -> [String: SettingValue] {
        let type = request.headers[.contentType]?.split(separator: ";").first?.trimmingCharacters(in: .whitespaces)
        guard type?.lowercased() == "application/json" else {
            throw RequestRefusal(
                .unsupportedMediaType, "This is not JSON", "Content-Type: expected application/json.",
                member: "Content-Type")
        }
        let body: ByteBuffer
        do { body = try await request.body.collect(upTo: Self.maximumBytes) } catch {
            throw RequestRefusal(.contentTooLarge, "This is too long", "The body may have \(Self.maximumBytes) bytes.")
        }
        guard let members = JSONTree(Array(body.readableBytesView))?.members else {
            throw RequestRefusal(.badRequest, "The body is not valid", "The body: expected a JSON object.")
        }
        var arguments: [String: SettingValue] = [:]
        for member in members { arguments[member.name] = try Self.value(member.value, member.name) }
        return arguments
    }

    /// As ``arguments()``, with the address's version for the record that they name.
    ///
    /// - Parameter name: the argument that names the record: `number` or `numbers`.
    func arguments(of name: String) async throws -> [String: SettingValue] {
        var arguments = try await arguments()
        guard let version = integer("version") else { return arguments }
        guard arguments["seq"] == nil, name == "number" || arguments["seqs"] == nil else {
            throw RequestRefusal(
                .conflict, "The version is given twice", "version: leave it out, because the body has versions.",
                member: "version")
        }
        if name == "number", arguments[name] != nil {
            arguments["seq"] = .integer(version)
        } else if name == "numbers", arguments[name]?.list?.count == 1 {
            arguments["seqs"] = .list([.integer(version)])
        } else {
            throw RequestRefusal(
                .conflict, "Of which record?", "version: it needs a body that names one record.", member: "version")
        }
        return arguments
    }

    /// Returns the result for each record.
    ///
    /// - Throws: ``RequestRefusal`` if a record no longer has the version in the address.
    private func told(_ answer: ManualAnswer) throws -> Response {
        if integer("version") != nil, let entry = answer.entries.first(where: { $0.outcome == "changed" }) {
            throw RequestRefusal(
                .conflict, "The record has changed", "version: \(entry.reason ?? "read record \(entry.number) again").",
                member: "version")
        }
        return .json(Array(answer.text.utf8))
    }

    private static func value(_ tree: JSONTree, _ name: String) throws -> SettingValue {
        switch tree {
        case .text(let text): return .string(text)
        case .truth(let truth): return .boolean(truth)
        case .list(let items): return .list(try items.map { try value($0, name) })
        case .number(let digits):
            if let integer = Int64(digits) { return .integer(integer) }
            if let number = Double(digits), number.isFinite {
                // As the hub reads numbers: 5.0 and 5e0 are 5.
                return Int64(exactly: number).map(SettingValue.integer) ?? .number(number)
            }
        case .null, .object: break
        }
        throw RequestRefusal(
            .badRequest, "\(name) is not valid",
            "\(name): expected a text, a number, true, false, or a list of these.", member: name)
    }

    /// Refuses another person's name from the viewer of one person.
    func checkPerson(_ value: SettingValue?) throws {
        guard let value, viewer.person != nil,
            value.string.flatMap({ viewer.persons(parts.hub.persons).named($0) }) == nil
        else { return }
        throw RequestRefusal(
            .notFound, "There is no such person", "person: GET /api/v1/persons lists the persons.", member: "person")
    }

    /// Runs a command by hand, limited to the viewer's records, and returns the result for each record.
    func byHand(_ right: OwnerRight, _ arguments: [String: SettingValue]) async throws -> Response {
        let answer =
            truth("dryRun")
            ? try await parts.hand.plan(right, arguments, for: viewer)
            : try await parts.hand.run(right, arguments, for: viewer)
        return try told(answer)
    }

    /// Assigns records to a person.
    func assign() async throws -> Response {
        let result = try await parts.hub.run(
            OwnCommands.Assign.self, try await arguments(of: "numbers"), isDryRun: truth("dryRun"),
            deadline: .seconds(60))
        switch result {
        case .records(let answer): return try told(answer)
        case .other(let report): return .json(report.json.bytes)
        }
    }

    /// Runs a command of the hub and returns its result.
    func command(
        _ command: (some OwnCommand).Type, _ arguments: [String: SettingValue] = [:]
    ) async throws -> Response {
        try await self.command(command.name, arguments)
    }

    /// Runs a command and returns its result.
    ///
    /// - Parameter instance: the plugin that runs it; nil for the hub.
    func command(
        _ name: String, of instance: String? = nil, _ arguments: [String: SettingValue] = [:]
    ) async throws -> Response {
        let result = try await parts.hub.command(
            name, of: instance, arguments, isDryRun: truth("dryRun"), deadline: .seconds(60))
        return .json(result?.bytes ?? Array("{}".utf8))
    }
}
