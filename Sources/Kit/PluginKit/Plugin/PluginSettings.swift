import Foundation
public import HubWire

/// The settings of one instance, with defaults filled in.
///
/// The hub, or the program itself for `--settings FILE`, has checked them against the manifest.
/// The accessors throw if a setting is absent or has another type. Declare the setting as required or with a default, or use the subscript for a
/// setting that may be absent.
public struct PluginSettings: Sendable, Hashable {
    /// All settings that are set or have a default, by name.
    public let values: [String: SettingValue]

    /// Creates settings from values, without checking them or filling in defaults.
    public init(_ values: [String: SettingValue] = [:]) { self.values = values }

    /// Decodes the `settings` member of WELCOME.
    init(_ json: RawJSON) throws {
        do {
            values = try JSONDecoder().decode([String: SettingValue].self, from: Data(json.bytes))
        } catch {
            // Decoding errors contain the decoded data, which may include a secret.
            throw PluginFailure(.settings, "the hub sent settings that cannot be read; it and this plugin do not match")
        }
    }

    /// Decodes the `settings` member of WELCOME for a program that may have been started by hand.
    ///
    /// The hub fills in defaults, except for an instance whose section is off or missing. For such an instance this initializer fills them in.
    ///
    /// - Throws: ``PluginFailure`` with ``PluginExit/settings`` if a required setting has no value.
    init(welcome: RawJSON, for manifest: Manifest) throws {
        var values = try PluginSettings(welcome).values
        for declaration in manifest.settings where values[declaration.name] == nil {
            values[declaration.name] = declaration.defaultValue
        }
        let missing = manifest.settings.filter { $0.isRequired && values[$0.name] == nil }.map { declaration in
            "setting \(declaration.name): the hub does not have it, for this instance is off in hub.conf, not in it, or on another machine (remote); give it with --settings FILE"
        }
        guard missing.isEmpty else { throw PluginFailure(settings: missing) }
        self.values = values
    }

    /// The value of a setting, or `nil` if it is absent.
    public subscript(_ name: String) -> SettingValue? { values[name] }

    /// A text, or any value that `hub.conf` writes as one: a path, an address, a choice, a zone, a date.
    ///
    /// - Throws: ``PluginFailure`` with ``PluginExit/settings`` if the setting is absent or has another type; the message does not contain the value.
    ///   The other accessors throw the same error.
    public func text(_ name: String) throws -> String { try value(name, "a text", \.string) }
    /// A list of texts, in the order of `hub.conf`.
    public func texts(_ name: String) throws -> [String] { try value(name, "a list of texts", \.strings) }
    /// A whole number.
    public func integer(_ name: String) throws -> Int64 { try value(name, "a whole number", \.integer) }
    /// A number, including whole numbers.
    public func number(_ name: String) throws -> Double { try value(name, "a number", \.number) }
    /// `true` or `false`.
    public func boolean(_ name: String) throws -> Bool { try value(name, "true or false", \.boolean) }
    /// A span of time, such as `15min`.
    public func duration(_ name: String) throws -> SettingDuration { try value(name, "a duration", \.duration) }
    /// A number of bytes, such as `64MiB`.
    public func size(_ name: String) throws -> ByteSize { try value(name, "a size", \.size) }
    /// A secret text that does not print its value; `reveal()` returns it.
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
