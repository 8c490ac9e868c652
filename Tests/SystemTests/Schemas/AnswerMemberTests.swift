import Testing

/// Compares the hub's answers, by the types that encode them, with their schemas.
@Suite struct AnswerMemberTests {
    /// By source file or folder: its types with the schemas of the JSON that they encode.
    private static let answers: [String: [String: String]] = [
        "Contract/HubWire/Status/HubStatus.swift": [
            "HubStatus": "status.json", "Endpoints": "status.json#/$defs/endpoints",
            "Memory": "status.json#/$defs/memory",
            "StoreState": "status.json#/$defs/store", "Erasure": "status.json#/$defs/erasure",
            "Check": "status.json#/$defs/check", "AccountStatus": "account.json",
            "SessionStatus": "status.json#/$defs/session", "DeviceStatus": "status.json#/$defs/device",
            "PersonStatus": "person.json", "Characteristic": "person.json#/$defs/characteristic",
            "Overruled": "person.json#/$defs/overruled",
        ],
        "Contract/HubWire/Status/PluginStatus.swift": [
            "PluginStatus": "plugin-status.json", "TokenStatus": "plugin-status.json#/$defs/token",
        ],
        "Contract/HubWire/Status/SinkStatus.swift": ["SinkStatus": "sink.json"],
        "Contract/HubWire/Commands/Retention.swift": ["RetentionReport": "retention.json"],
        "Contract/HubWire/Commands/Erase.swift": ["ErasureFailure": "status.json#/$defs/fault"],
        "Contract/HubWire/Status/PluginEntry.swift": [
            "PluginEntry": "plugin.json", "Granted": "plugin.json#/properties/granted",
            "Grants": "plugin.json#/properties/grants", "Scope": "plugin.json#/$defs/scope",
            "Isolation": "plugin.json#/$defs/isolation", "Gap": "plugin.json#/$defs/isolation/properties/gaps/items",
        ],
        "Contract/HubWire/Settings/TypePermissions.swift": ["Permission": "plugin.json#/properties/permissions/items"],
        "Hub/HubCore/Queries/TraceReport.swift": [
            "Ruling": "trace.json#/$defs/version/properties/ruling", "Delivery": "trace.json#/$defs/delivery",
            "Confirmed": "trace.json#/$defs/delivery/properties/confirmed",
        ],
        "Hub/HubCore/Plugins/PluginNotices.swift": [
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
    }
}
