import Foundation
import HubSettings

/// What a person types for a setting, and how its value is shown to one.
enum SettingAnswer {
    /// The value that an answer means; the rules of `hub.conf` judge it.
    static func value(_ text: String, _ type: SettingType) -> SettingValue {
        switch type {
        case .integer: return Int64(text).map(SettingValue.integer) ?? .string(text)
        case .number: return Double(text.replacing(",", with: ".")).map(SettingValue.number) ?? .string(text)
        case .boolean: return truth(text).map(SettingValue.boolean) ?? .string(text)
        case .list(let element): return .list(parts(text).map { value($0, element) })
        // A person means the folder they are in; hub.conf means its own.
        case .path where !text.hasPrefix("/") && !text.hasPrefix("~") && !text.hasPrefix("${"):
            return .string(FileManager.default.currentDirectoryPath + "/" + text)
        default: return .string(text)
        }
    }

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
        case .number(let number) where number == number.rounded() && abs(number) < 1e15: String(Int64(number))
        case .list(let values): values.map(text).joined(separator: ", ")
        default: value.toml
        }
    }
}
