import Foundation
import PluginKit
import Testing

@testable import AppleHealth

/// Tests the list of exports in a folder, and the detection of their changes.
@Suite struct ExportFolderTests {
    private let path = "/tmp/apple-folder-\(UInt64.random(in: 0 ... .max))"
    private let files = FileManager.default

    private func write(_ name: String, _ text: String = "x", age: Double = 600) throws {
        let file = "\(path)/\(name)"
        let folder = URL(filePath: file).deletingLastPathComponent().path
        try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        for place in [file, folder] {
            try files.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: place)
        }
    }

    private func entries() throws -> [ExportFolder.Entry] { try ExportFolder(path).exports().entries }

    @Test func `An unpacked export is as old as its newest file, and changes when any file grows`() throws {
        defer { try? files.removeItem(atPath: path) }
        try write("old/workout-routes/a.gpx")
        try write("old/export.xml")
        var known = try #require(try entries().first)
        #expect(known.name == "old" && Int(Date().timeIntervalSince1970) - known.written > 500)
        // A write to a file in the folder does not change the folder itself.
        for name in ["export.xml", "workout-routes/a.gpx"] {
            let handle = try #require(FileHandle(forWritingAtPath: "\(path)/old/\(name)"))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("more".utf8))
            try handle.close()
            let now = try #require(try entries().first)
            #expect(now.state != known.state && Int(Date().timeIntervalSince1970) - now.written < 100)
            known = now
        }
        try write("old/electrocardiograms/e.csv", age: 900)
        #expect(try entries().first?.state != known.state)
    }

    @Test func `Links, hidden files and other things are not exports`() throws {
        defer { try? files.removeItem(atPath: path) }
        try write("b.zip")
        try write("folder/export.xml")
        try write("other/notes.txt")
        try write(".hidden.zip")
        try write("export_cda.xml")
        try files.createSymbolicLink(atPath: path + "/link.zip", withDestinationPath: path + "/b.zip")
        try files.createSymbolicLink(atPath: path + "/linked", withDestinationPath: path + "/folder")
        try write("hollow/notes.txt")
        try files.createSymbolicLink(
            atPath: path + "/hollow/export.xml", withDestinationPath: path + "/folder/export.xml")
        #expect(try entries().map(\.name) == ["b.zip", "folder"])
    }

    @Test func `Exports beyond a thousand are counted`() throws {
        defer { try? files.removeItem(atPath: path) }
        for number in 0..<1_003 { try write("\(number).zip", "") }
        let listing = try ExportFolder(path).exports()
        #expect(listing.entries.count == 1_000 && listing.leftOut == 3)
    }
}
