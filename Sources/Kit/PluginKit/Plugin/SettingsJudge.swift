import Foundation
import HubWire

/// `--check-settings`: the plugin checks settings that already conform to its manifest.
extension PluginCommandLine {
    /// The maximum size of the input, more than any settings need; larger input is rejected.
    private static var inputLimit: Int { 1 << 20 }

    /// Reads stdin to its end.
    static func input() throws -> [UInt8] {
        var bytes = Data()
        while bytes.count <= inputLimit, let more = try FileHandle.standardInput.read(upToCount: 65_536), !more.isEmpty
        {
            bytes += more
        }
        guard bytes.count <= inputLimit else {
            throw PluginFailure(.usage, "stdin: the settings are larger than a MiB")
        }
        return Array(bytes)
    }

    static func verdict(on input: [UInt8]) throws -> SettingsVerdict {
        guard let json = RawJSON(String(decoding: input, as: UTF8.self)) else {
            throw PluginFailure(.usage, "stdin: expected the settings as one JSON object")
        }
        do {
            let settings = try PluginSettings(json)
            try P().judge(settings)
            return SettingsVerdict(days: try P().dayUse(settings))
        } catch let failure as PluginFailure {
            return SettingsVerdict(failure.reasons.map(objection))
        } catch {
            return SettingsVerdict([objection("\(error)")])
        }
    }

    /// A message of the form `setting NAME: REASON` belongs to that setting.
    private static func objection(_ message: String) -> SettingsVerdict.Objection {
        let mark = "setting "
        guard message.hasPrefix(mark), let end = message.firstRange(of: ": ") else { return .init(reason: message) }
        let name = String(message[message.index(message.startIndex, offsetBy: mark.count)..<end.lowerBound])
        guard P.manifest.settings.contains(where: { $0.name == name }) else { return .init(reason: message) }
        return .init(setting: name, reason: String(message[end.upperBound...]))
    }
}

extension SettingsVerdict {
    /// One line, members in alphabetical order.
    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
