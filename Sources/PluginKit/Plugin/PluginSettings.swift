import Foundation
public import HubSettings
import HubWire

/// The settings of one instance, checked against its manifest by the hub, or by `--settings FILE`; defaults are filled in.
///
/// The accessors throw when a setting is absent or of another type: declare it as required or with a default, or use the
/// subscript for one that may be absent.
public struct PluginSettings: Sendable, Hashable {
    /// Every setting that is set or has a default, by name.
    public let values: [String: SettingValue]

    /// Settings as they are given; nothing is checked, and no default is filled in.
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

    /// Reads `settings` of WELCOME for a program that may have been started by hand.
    ///
    /// The hub fills in defaults, but not for an instance whose section is off or not there.
    ///
    /// - Throws: ``PluginFailure`` with ``PluginExit/settings`` where one is missing that has none.
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

    /// The value of a setting that may be absent.
    public subscript(_ name: String) -> SettingValue? { values[name] }

    /// A text, or what `hub.conf` writes as one: a path, an address, a choice, a zone, a date.
    ///
    /// - Throws: ``PluginFailure`` with ``PluginExit/settings``, without the value, when the setting is absent or of
    ///   another type; so do the others.
    public func text(_ name: String) throws -> String { try value(name, "a text", \.string) }
    /// A list of texts, in the order of the file.
    public func texts(_ name: String) throws -> [String] { try value(name, "a list of texts", \.strings) }
    /// A whole number.
    public func integer(_ name: String) throws -> Int64 { try value(name, "a whole number", \.integer) }
    /// A number, whole ones too.
    public func number(_ name: String) throws -> Double { try value(name, "a number", \.number) }
    /// `true` or `false`.
    public func boolean(_ name: String) throws -> Bool { try value(name, "true or false", \.boolean) }
    /// A span of time, such as `15min`.
    public func duration(_ name: String) throws -> SettingDuration { try value(name, "a duration", \.duration) }
    /// A number of bytes, such as `64MiB`.
    public func size(_ name: String) throws -> ByteSize { try value(name, "a size", \.size) }
    /// A text that prints as nothing; `reveal()` gives it to where it is needed.
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
