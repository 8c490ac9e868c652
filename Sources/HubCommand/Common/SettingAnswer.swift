import Foundation
import HandEntries
import HealthText
import HubSettings

/// What a person types for a setting or an argument, and how its value is shown to one.
enum SettingAnswer {
    /// The value that a text means; what it cannot be stays a text, and the rules of the setting judge it.
    ///
    /// - Parameter directory: where relative paths start: a person means the folder they are in; hub.conf means its own.
    static func value(
        _ text: String, _ type: SettingType, directory: String = FileManager.default.currentDirectoryPath
    ) -> SettingValue {
        switch type {
        case .integer: Int64(text).map(SettingValue.integer) ?? .string(text)
        case .number: (try? ValueArgument.number(text)).map(SettingValue.number) ?? .string(text)
        case .boolean: truth(text).map(SettingValue.boolean) ?? .string(text)
        case .list(let element): .list(parts(text).map { value($0, element, directory: directory) })
        case .path where isRelative(text): .string("\(directory)/\(text)")
        default: .string(text)
        }
    }

    /// Whether a path starts at some folder: `~` and `${…}` stand for what is whole already.
    static func isRelative(_ path: String) -> Bool { !["/", "~", "${"].contains { path.hasPrefix($0) } }

    /// What stands between commas.
    static func parts(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    static func truth(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "y", "yes", "true", "on": true
        case "n", "no", "false", "off": false
        default: nil
        }
    }

    static func text(_ value: SettingValue) -> String {
        switch value {
        case .string(let text): text
        case .number(let number): NumberText.shortest(number)
        case .list(let values): values.map(text).joined(separator: ", ")
        case .secret: Secret.placeholder
        case .integer, .boolean: value.toml
        }
    }
}
