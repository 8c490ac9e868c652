import Foundation
import Samples

/// The folder that `hub plugin new` makes: a plugin that works without changes.
struct PluginFolder {
    struct File {
        var path: String
        var text: String
        var isProgram = false
    }

    let name: String
    let language: PluginLanguage
    let role: PluginRole
    /// A type of the kind quantity or category.
    let type: HealthType
    /// Absolute.
    let path: String
    /// The package of PluginKit, for Swift.
    let package: PackagePlace?

    var program: String { "hub-\(name)" }

    /// All files, in the order in which they are listed.
    func files(today: Date = Date()) -> [File] {
        let parts = language.parts(program, role)
        let kind = type.kind.rawValue
        let values = [
            "NAME": name,
            // A dot in a bare key would begin a nested table.
            "SECTION": name.contains(".") ? "\"\(name)\"" : name, "TYPE": type.id.rawValue, "UNIT": type.unit ?? "",
            "LINE": line, "FOLDER": path.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""),
            "NEEDS": language.needs, "PACKAGES": language.packages.isEmpty ? "" : " \(language.packages)",
            "DEPENDENCY": package?.dependency ?? "", "PACKAGE": package?.identity ?? "", "BUILD": buildSteps,
            "FILES": parts.filter { !$0.meaning.isEmpty }.map { "| `\($0.shownPath)` | \($0.meaning) |" }
                .joined(separator: "\n"),
        ]
        func filled(_ path: String, _ origin: String, isProgram: Bool = false) -> File {
            File(path: path, text: EmbeddedFile.filled(origin, values, kind: kind), isProgram: isProgram)
        }
        var files = parts.map { part in
            // Client libraries are copied without replacements, whatever they contain.
            part.origin.hasPrefix("Clients/")
                ? File(path: part.path, text: EmbeddedFile.text(part.origin))
                : filled(part.path, part.origin, isProgram: part.isProgram)
        }
        files.append(filled("README.md", "readme-\(role).md"))
        files.append(filled("sample.conf", "sample-\(role).conf"))
        files.append(filled("test.conf", "test-\(role).conf"))
        if role == .source { files.append(File(path: "readings.txt", text: readings(before: today))) }
        files.append(filled(".github/workflows/plugin.yml", "workflow.yml"))
        return files
    }

    /// The command that builds the program; empty if it needs no build.
    var build: String { language.build(program) }

    private var buildSteps: String {
        build.isEmpty ? "      # The program is there as it is." : "      - run: \(build)"
    }

    /// A description of a line of the file of readings.
    private var line: String {
        let value = type.unit.map { "a number in \($0)" } ?? "one of \(values.map(\.name).joined(separator: ", "))"
        return "a time with its offset, then the end of what lasts, and \(value)"
    }

    private var values: [CategoryValue] { type.values.filter { !$0.isOldName } }

    /// Twelve readings, one a day, up to yesterday.
    private func readings(before today: Date) -> String {
        let offset = Int64(TimeZone.current.secondsFromGMT(for: today) / 60)
        let day: Int64 = 86_400
        let midnight = (Int64(today.timeIntervalSince1970) + offset * 60) / day * day - offset * 60
        // At half past seven; intervals last half an hour.
        func time(_ second: Int64) -> String {
            Timestamp(microseconds: second * 1_000_000, offsetMinutes: Int16(offset)).text
        }
        let lasts = type.aggregation == .cumulative || type.kind == .category
        return (0..<12).map { number in
            let start = midnight - Int64(12 - number) * day + 27_005
            return time(start) + (lasts ? " \(time(start + 1_800))" : "") + " \(value(number))\n"
        }.joined()
    }

    /// A plausible value of the type that surprises no one.
    private func value(_ number: Int) -> String {
        guard type.kind == .quantity else { return values.isEmpty ? "" : values[number % values.count].name }
        return String(format: "%.\(type.decimals)f", type.unsurprising(0.18 + Double(number) / 500))
    }

    /// Makes the folder completely or not at all.
    func write(_ files: [File]) throws {
        let manager = FileManager.default
        let place = path + ".\(UUID().uuidString.prefix(8))"
        do {
            for file in files {
                let path = "\(place)/\(file.path)"
                try manager.createDirectory(
                    atPath: URL(filePath: path).deletingLastPathComponent().path, withIntermediateDirectories: true)
                guard
                    manager.createFile(
                        atPath: path, contents: Data(file.text.utf8),
                        attributes: file.isProgram ? [.posixPermissions: 0o755] : nil)
                else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
            }
            try manager.moveItem(atPath: place, toPath: path)
        } catch {
            try? manager.removeItem(atPath: place)
            throw error
        }
    }
}

extension PluginLanguage.Part {
    /// The path shown in lists: a package is shown as its folder.
    fileprivate var shownPath: String { path.hasPrefix("health_hub/") ? "health_hub/" : path }
}

/// The location of the package with PluginKit.
struct PackagePlace {
    /// The folder or the address.
    let path: String
    /// The dependency as Package.swift declares it.
    let dependency: String
    /// The identity in SwiftPM: the last part of its path or address.
    let identity: String

    /// - Parameter text: a folder or an address.
    init(_ text: String) {
        let isAddress = text.contains("://") || text.hasPrefix("git@")
        let place = isAddress ? text : URL(filePath: text).standardizedFileURL.path
        path = place
        let quoted = place.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        dependency = isAddress ? ".package(url: \"\(quoted)\", branch: \"main\")" : ".package(path: \"\(quoted)\")"
        let last = place.split(separator: "/").last.map(String.init) ?? place
        identity = (last.hasSuffix(".git") ? String(last.dropLast(4)) : last).lowercased()
    }

    /// The checkout in which this program was built.
    static var ofThisProgram: PackagePlace? {
        var folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        while folder.path != "/" {
            let manifest = try? String(contentsOf: folder.appending(path: "Package.swift"), encoding: .utf8)
            if manifest?.contains("name: \"health-hub\"") == true { return PackagePlace(folder.path) }
            folder.deleteLastPathComponent()
        }
        return nil
    }
}
