import Foundation
public import HubSettings
import HubWire

/// The settings of one instance, checked against its manifest by the hub, or by `--settings FILE`; defaults are filled in.
///
/// The accessors throw when a setting is absent or of another type: declare it as required or with a default, or use the
/// subscript for one that may be absent.
public struct PluginSettings: Sendable, Hashable {
    public let values: [String: SettingValue]

    public init(_ values: [String: SettingValue] = [:]) { self.values = values }

    /// Reads `settings` of WELCOME.
    init(_ json: RawJSON) throws {
        do {
            values = try JSONDecoder().decode([String: SettingValue].self, from: Data(json.bytes))
        } catch {
            // Decoding errors show what they found, which may be a secret.
            throw PluginFailure(.settings, "the hub sent settings that cannot be read; it and this plugin do not match")
        }
    }

    /// The value of a setting that may be absent.
    public subscript(_ name: String) -> SettingValue? { values[name] }

    public func text(_ name: String) throws -> String { try value(name, "a text", \.string) }
    public func texts(_ name: String) throws -> [String] { try value(name, "a list of texts", \.strings) }
    public func integer(_ name: String) throws -> Int64 { try value(name, "a whole number", \.integer) }
    public func number(_ name: String) throws -> Double { try value(name, "a number", \.number) }
    public func boolean(_ name: String) throws -> Bool { try value(name, "true or false", \.boolean) }
    public func duration(_ name: String) throws -> SettingDuration { try value(name, "a duration", \.duration) }
    public func size(_ name: String) throws -> ByteSize { try value(name, "a size", \.size) }
    public func secret(_ name: String) throws -> Secret { try value(name, "a secret text", \.secret) }

    private func value<Value>(
        _ name: String, _ expected: String, _ read: (SettingValue) -> Value?
    ) throws -> Value {
        guard let value = values[name].flatMap(read) else {
            let found = values[name] == nil ? "it is not set" : "it has another type"
            throw PluginFailure(.settings, "setting \(name): expected \(expected), but \(found)")
        }
        return value
    }
}
