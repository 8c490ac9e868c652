import Foundation
import HubProcess
import HubSettings
import Testing

@testable import HubCore

/// The hub's data and run directories.
@Suite(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)")) struct DirectoryTests {
    private func mode(of path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    private func section(_ disk: SmallDisk, _ folder: TemporaryFolder) -> HubSection {
        HubSection(data: disk.path, run: folder.path + "/run", logLevel: .info, keepRaw: false)
    }

    @Test func `an empty file system that is writable for all becomes private, with one notice`()
        throws
    {
        let disk = try SmallDisk(bytes: 65_536)
        chmod(disk.path, 0o1777)
        for expected in [1, 0] {
            var notices: [String] = []
            let lock = try HubDirectories(section(disk, try TemporaryFolder())).prepare { notices.append($0) }
            withExtendedLifetime(lock) {}
            #expect(notices.count == expected && notices.allSatisfy { $0.contains(disk.path) }, "\(notices)")
            #expect(mode(of: disk.path) == 0o700)
        }
    }

    @Test(arguments: ["a file of another user", "an unrelated file", "not a separate file system"])
    func `another folder that is writable for all is refused and keeps its mode`(_ what: String)
        throws
    {
        let (disk, folder) = (try SmallDisk(bytes: 65_536), try TemporaryFolder())
        var path = disk.path
        if what == "not a separate file system" {
            path += "/folder"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        } else {
            try #require(FileManager.default.createFile(atPath: path + "/hub.sqlite", contents: Data()))
            try #require(chown(path + "/hub.sqlite", what == "a file of another user" ? 65_534 : 0, 0) == 0)
            if what == "an unrelated file" { rename(path + "/hub.sqlite", path + "/notes") }
        }
        chmod(path, 0o1777)
        var section = section(disk, folder)
        section.data = path
        #expect(throws: HubError.self) { try HubDirectories(section).prepare() }
        #expect(mode(of: path) == 0o1777)
    }
}
