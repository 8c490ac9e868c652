import Foundation
import HubCore
import HubWire
import Platform

/// The packs available in a folder or on a web server: a file `catalogue.json` beside them (Protocol §14.3).
package struct Catalogue: Codable, Hashable, Sendable {
    package struct Entry: Codable, Hashable, Sendable {
        package var name, version, summary: String
        /// The name of the pack's file, beside the catalogue.
        package var file: String
        package var bytes: Int
        /// The digest of the pack file, in lowercase hexadecimal digits.
        package var sha256: String
        package var reads, writes, reaches: [String]
        /// The tier that its pack declares.
        package var tier: String?
    }

    /// The version of the file format.
    package var catalogue: Int
    /// Sorted by name, then by version, the newest last.
    package var plugins: [Entry]

    package static let form = 1
    package static let file = "catalogue.json"
    /// Maximum size of the catalogue file.
    package static let maximumBytes = 8 << 20
    private static let most = 10_000

    /// - Throws: a refusal with the reason.
    package init(_ bytes: [UInt8]) throws(PluginError) {
        do throws(PrintedAnswer.InvalidAnswer) { self = try PrintedAnswer(bytes).read(Catalogue.self) } catch {
            throw PluginError("it is not a catalogue: \(error)")
        }
        guard catalogue == Self.form else {
            throw PluginError("it is of form \(catalogue), and this hub knows form \(Self.form)")
        }
        guard plugins.count <= Self.most else { throw PluginError("it has more than \(Self.most) packs") }
        for entry in plugins {
            if let fault = entry.fault { throw PluginError("its entry \(Tar.shown(entry.name)) is wrong: \(fault)") }
        }
    }

    /// Makes the catalogue of the packs in a folder; a file there that is not a valid pack is an error with its name.
    package init(folder: String) throws {
        var entries: [Entry] = []
        for name in try Folder.names(in: folder) where name.hasSuffix(".\(PackIndex.ending)") {
            do {
                guard let bytes = try PrivateFile.read("\(folder)/\(name)", upTo: PackLimits.packedBytes) else {
                    continue
                }
                let pack = try PackReader(bytes)
                try pack.check()
                let (index, manifest) = (pack.index, pack.index.manifest)
                entries.append(
                    Entry(
                        name: index.name, version: index.version, summary: manifest.summary, file: name,
                        bytes: bytes.count, sha256: pack.sha256, reads: manifest.reads, writes: manifest.writes,
                        reaches: manifest.reaches, tier: index.tier?.tier))
            } catch let refusal as PluginError { throw PluginError("\(folder)/\(name): \(refusal)") }
        }
        (catalogue, plugins) = (Self.form, entries.sorted { $0.isBefore($1) })
    }

    package var json: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(self)) + [0x0A]
        }
    }

    /// The newest version of each plugin that contains the word; of all plugins if there is no word.
    package func search(_ word: String?) -> [Entry] {
        let word = word?.lowercased()
        let newest = Dictionary(grouping: plugins, by: \.name).compactMap { $1.max { $0.isBefore($1) } }
        return newest.filter { entry in
            guard let word else { return true }
            return ([entry.name, entry.summary] + entry.reads + entry.writes).contains {
                $0.lowercased().contains(word)
            }
        }.sorted { $0.isBefore($1) }
    }

    /// - Parameter name: `NAME` for the newest version, or `NAME@VERSION`.
    package func entry(_ name: String) throws(PluginError) -> Entry {
        let parts = name.split(separator: "@", maxSplits: 1).map(String.init)
        let fitting = plugins.filter { $0.name == parts.first && (parts.count == 1 || $0.version == parts[1]) }
        guard let entry = fitting.max(by: { $0.isBefore($1) }) else {
            let versions = plugins.filter { $0.name == parts.first }.map(\.version)
            throw PluginError(
                versions.isEmpty
                    ? "the catalogue has no \(parts.first ?? name); hub plugin search lists its plugins"
                    : "the catalogue has it in \(versions.joined(separator: ", "))")
        }
        return entry
    }
}

extension Catalogue.Entry {
    fileprivate func isBefore(_ other: Self) -> Bool {
        name == other.name ? PackIndex.isVersion(version, before: other.version) : name < other.name
    }

    fileprivate var fault: String? {
        if !PeerName.isValid(name) { return "name: expected \(PeerName.expected)" }
        if let fault = PackIndex.fault(ofVersion: version) { return fault }
        if file.contains("/") || PackIndex.fault(ofPath: file) != nil {
            return "file: expected a name beside the catalogue"
        }
        if sha256.utf8.count != 64 { return "sha256: expected 64 digits" }
        return (1...PackLimits.packedBytes).contains(bytes) ? nil : "bytes: expected at most \(PackLimits.packedBytes)"
    }
}
