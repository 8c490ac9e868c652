import Foundation
package import HubWire
import Samples

/// Converts typed texts to values of settings and arguments, and values to texts.
package enum SettingAnswer {
    /// The value of a typed text.
    ///
    /// A text that does not fit the type stays a text, which the setting's validation then refuses.
    ///
    /// - Parameters:
    ///   - unit: the unit of a number; another unit may be typed: `82 kg`, `180lb`.
    ///   - directory: the folder for relative paths: the current one for typed paths, that of `hub.conf` for paths in it.
    package static func value(
        _ text: String, _ type: SettingType, unit: String? = nil,
        directory: String = FileManager.default.currentDirectoryPath
    ) -> SettingValue {
        switch type {
        case .integer: Int64(text).map(SettingValue.integer) ?? .string(text)
        case .number:
            ((try? ValueArgument.number(text)) ?? quantity(text, in: unit)).map(SettingValue.number) ?? .string(text)
        case .date: .string(LocalDate(typed: text)?.text ?? text)
        case .timeZone: .string(ZoneName.one(meantBy: text) ?? text)
        case .string(let rule): .string(link(text, rule) ?? text)
        case .boolean: truth(text).map(SettingValue.boolean) ?? .string(text)
        case .list(let element): .list(parts(text).map { value($0, element, directory: directory) })
        case .path where isRelative(text): .string("\(directory)/\(text)")
        default: .string(text)
        }
    }

    /// The value of `82 kg` or `6ft 1in` in the unit of a setting.
    private static func quantity(_ text: String, in unit: String?) -> Double? {
        guard let unit = unit.flatMap({ try? HealthUnit($0) }),
            case .quantity(let value, let typed)? = try? ValueArgument([text], of: nil)
        else { return nil }
        return try? HealthUnit(typed).convert(value, to: unit)
    }

    /// The link for a plain Bluetooth address, if the setting takes such links.
    private static func link(_ text: String, _ rule: TextRule) -> String? {
        guard text.wholeMatch(of: /[0-9A-Fa-f]{2}([:\-][0-9A-Fa-f]{2}){5}/) != nil,
            case let link = "rfcomm://\(text.uppercased().replacing("-", with: ":"))",
            let pattern = rule.pattern.flatMap({ try? Regex($0) }), (try? pattern.wholeMatch(in: text)) == nil,
            (try? pattern.wholeMatch(in: link)) != nil
        else { return nil }
        return link
    }

    /// Whether a path is relative; paths that begin with `~` or `${…}` are not.
    package static func isRelative(_ path: String) -> Bool { !["/", "~", "${"].contains { path.hasPrefix($0) } }

    /// The parts between commas.
    package static func parts(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    package static func truth(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "y", "yes", "true", "on": true
        case "n", "no", "false", "off": false
        default: nil
        }
    }

    package static func text(_ value: SettingValue) -> String {
        switch value {
        case .string(let text): text
        case .number(let number): NumberText.shortest(number)
        case .list(let values): values.map(text).joined(separator: ", ")
        case .integer(let number): String(number)
        case .boolean(let truth): String(truth)
        case .secret: Secret.placeholder
        }
    }
}
