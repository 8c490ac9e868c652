import HubWire
import JSON
import Testing

@testable import HubCore

/// Compares the hub's answers, by the types that encode them, with their schemas.
@Suite struct AnswerMemberTests {
    /// By source file or folder: its types with the schemas of the JSON that they encode.
    private static let answers: [String: [String: String]] = [
        "Hub/HubCore/Health/HubStatus.swift": [
            "HubStatus": "status.json", "Endpoints": "status.json#/$defs/endpoints",
            "Memory": "status.json#/$defs/memory",
            "StoreState": "status.json#/$defs/store", "Erasure": "status.json#/$defs/erasure",
            "Fault": "status.json#/$defs/fault", "Check": "status.json#/$defs/check", "AccountStatus": "account.json",
            "SessionStatus": "status.json#/$defs/session", "DeviceStatus": "status.json#/$defs/device",
            "PersonStatus": "person.json", "Characteristic": "person.json#/$defs/characteristic",
            "Overruled": "person.json#/$defs/overruled", "PluginStatus": "plugin-status.json",
        ],
        "Hub/HubCore/Deliveries/SinkStatus.swift": ["SinkStatus": "sink.json"],
        "Hub/HubCore/Commands/Retain.swift": ["RetentionReport": "retention.json"],
        "Hub/HubCore/Configuration/PluginCatalogue.swift": [
            "Entry": "plugin.json", "Granted": "plugin.json#/properties/granted",
            "Grants": "plugin.json#/properties/grants", "Scope": "plugin.json#/$defs/scope",
        ],
        "Contract/HubWire/Settings/TypePermissions.swift": ["Permission": "plugin.json#/properties/permissions/items"],
        "Hub/HubCore/Plugins/Isolation.swift": [
            "Isolation": "plugin.json#/$defs/isolation", "Gap": "plugin.json#/$defs/isolation/properties/gaps/items",
        ],
        "Hub/HubCore/Queries/TraceReport.swift": [
            "Ruling": "trace.json#/$defs/version/properties/ruling", "Delivery": "trace.json#/$defs/delivery",
            "Confirmed": "trace.json#/$defs/delivery/properties/confirmed",
        ],
        "Hub/HubCore/Plugins/PluginNews.swift": [
            "NoticeBody": "../feed.json#/$defs/notice", "PluginBody": "../feed.json#/$defs/plugin",
        ],
    ]

    @Test func `schemas list each member of an answer`() throws {
        for (path, types) in Self.answers {
            let source = try SourceMembers(path)
            for (type, name) in types {
                let address = name.hasPrefix("../") ? String(name.dropFirst(3)) : "answers/\(name)"
                #expect(source.keys(of: type) == Set(try Documents.members(address)), "\(type): \(address)")
            }
        }
        let token = try SourceMembers("Hub/HubCore/Tokens/TokenStatus.swift")
        // `needsLogIn` is not a member: it is computed from other members.
        #expect(
            token.keys(of: "TokenStatus") == Set(try Documents.members("answers/plugin-status.json#/$defs/token")))
    }

    @Test func `R8.8 each of the hub's own commands has a schema with its arguments`() throws {
        let files = try Documents.schemaNames().filter { $0.hasPrefix("commands/") }
        #expect(Set(files) == Set(OwnCommands.all.map { "commands/\($0.declaration.name).json" }))
        for command in OwnCommands.all.map({ $0.declaration }) {
            let address = "commands/\(command.name).json#/$defs/args"
            let args = try Documents.schema(address)
            #expect(Set(try Documents.members(address)) == Set(command.arguments.map(\.name)), "\(command.name)")
            let needed = args["required"]?.list?.compactMap(\.text) ?? []
            #expect(Set(needed) == Set(command.arguments.filter(\.isRequired).map(\.name)), "\(command.name)")
            for argument in command.arguments {
                guard let word = args["properties"]?[argument.name]?["type"]?.text else { continue }
                #expect(Self.isOf(word, argument.type), "\(command.name) \(argument.name): \(word)")
            }
        }
    }

    private static func isOf(_ word: String, _ type: SettingType) -> Bool {
        switch type {
        case .integer: word == "integer"
        case .number: word == "number"
        case .boolean: word == "boolean"
        case .list: word == "array"
        default: word == "string"
        }
    }

    @Test func `schemas list each member of a command's result`() throws {
        let results: [(file: String, type: String, address: String)] = [
            ("Erase", "Result", "erase.json#/$defs/result/anyOf"), ("Retain", "Result", "retention.json#/$defs/result"),
            ("LogOut", "Result", "logout.json#/$defs/result"),
            ("ReleasePlugin", "Result", "release.json#/$defs/result"),
            ("RestartPlugin", "Result", "restart.json#/$defs/result"),
            ("ReloadKeys", "Result", "reload-keys.json#/$defs/result"),
        ]
        for (file, type, address) in results {
            let source = try SourceMembers("Hub/HubCore/Commands/\(file).swift")
            let isOne = !address.hasSuffix("anyOf")
            let parts =
                isOne ? [try Documents.members("commands/\(address)")] : try Self.branches("commands/\(address)")
            #expect(parts.contains { source.keys(of: type) == Set($0) }, "\(file)")
        }
        let report = try SourceMembers("Hub/HubCore/Configuration/ApplyReport.swift")
        #expect(report.keys(of: "ApplyReport") == Set(try Documents.members("commands/apply.json#/$defs/result")))
        #expect(
            report.keys(of: "Step")
                == Set(try Documents.members("commands/apply.json#/$defs/result/properties/instances/items")))
        #expect(
            try SourceMembers("Contract/HubWire/Settings/SettingsProblem.swift").keys(of: "SettingsProblem")
                == Set(try Documents.members("commands/apply.json#/$defs/problem")))
        let configure = try SourceMembers("Hub/HubCore/Configuration/ConfigureReport.swift")
        #expect(
            configure.keys(of: "ConfigureReport") == Set(try Documents.members("commands/configure.json#/$defs/result"))
        )
        #expect(configure.keys(of: "Change") == Set(try Documents.members("commands/configure.json#/$defs/change")))
        let manual = try SourceMembers("Hub/HubCore/Commands/ManualReport.swift").keys(of: "Entry")
        for name in ["log", "edit", "retract"] {
            let members = try Documents.members("commands/\(name).json#/$defs/result/properties/records/items")
            #expect(Set(members) == manual.union(["record", "last"]))
        }
    }

    /// The members of each branch of an `anyOf`.
    private static func branches(_ address: String) throws -> [[String]] {
        try Documents.schema(address).list?.map { $0["properties"]?.members?.map(\.name) ?? [] } ?? []
    }
}
