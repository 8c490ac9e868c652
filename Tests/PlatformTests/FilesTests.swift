import Foundation
import Platform
import Testing

@Suite final class FilesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    private var path: String { folder + "/file" }

    init() throws { try Folder.make(folder) }
    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func failure(_ body: () throws(FileError) -> Void) -> FileError? {
        do throws(FileError) { try body() } catch { return error }
        return nil
    }

    @Test func `a private file is written completely with mode 0600 and leaves no draft`() throws {
        #expect(try PrivateFile.write(Array("one".utf8), to: path))
        #expect(try PrivateFile.write(Array("two".utf8), to: path))
        #expect(try !PrivateFile.write(Array("three".utf8), to: path, replacing: false))
        #expect(try text(path) == "two" && mode(path) == 0o600)
        #expect(try Folder.names(in: folder) == ["file"])
    }

    @Test func `a write removes the drafts of dead processes and keeps those of running ones`()
        throws
    {
        // The largest possible process ID on this system, and the ID of this process's parent.
        let (dead, alive) = ("\(path).4194304.draft", "\(path).\(getppid()).draft")
        for draft in [dead, alive, "\(path).x.draft"] { try Data("half".utf8).write(to: URL(filePath: draft)) }
        try PrivateFile.write(Array("one".utf8), to: path)
        #expect(
            try Set(Folder.names(in: folder)) == ["file", "file.\(getppid()).draft", "file.x.draft"])
    }

    @Test func `a failed write leaves the previous file unchanged`() throws {
        try PrivateFile.write(Array("one".utf8), to: path)
        // A directory with the draft's name makes the write fail before it touches the file.
        let draft = "\(path).\(getpid()).draft"
        try Folder.make(draft)
        let error = failure { () throws(FileError) in try PrivateFile.write(Array("two".utf8), to: path) }
        #expect(error?.path == draft && error?.code == EEXIST)
        #expect(try text(path) == "one")
    }

    @Test func `reads are limited in size, and a missing file reads as nil`() throws {
        #expect(try PrivateFile.read(path, upTo: 3) == nil)
        try PrivateFile.write(Array("four".utf8), to: path)
        #expect(try PrivateFile.read(path, upTo: 4) == Array("four".utf8))
        #expect(failure { () throws(FileError) in _ = try PrivateFile.read(path, upTo: 3) }?.code == EFBIG)
        // The buffer is as large as the file, not as the limit.
        #expect(try PrivateFile.read(path, upTo: 1 << 60) == Array("four".utf8))
        let large = [UInt8](repeating: 7, count: 1_000_000)
        try PrivateFile.write(large, to: path)
        #expect(try PrivateFile.read(path, upTo: 1_000_000) == large)
        #expect(failure { () throws(FileError) in _ = try PrivateFile.read(path, upTo: 999_999) }?.code == EFBIG)
        #expect(try PrivateFile.remove(path))
        #expect(try !PrivateFile.remove(path))
    }

    @Test func `replace writes only if the file still has the expected bytes and no one else holds its lock`() throws {
        func replace(_ old: String, _ new: String) throws(FileError) -> Bool {
            try PrivateFile.replace(old.utf8, with: new.utf8, in: path)
        }
        #expect(try !replace("one", "two"))
        try PrivateFile.write(Array("one".utf8), to: path)
        #expect(chmod(path, 0o640) == 0)
        for other in ["", "on", "ons", "one more"] { #expect(try !replace(other, "two")) }
        let another = try Descriptor(path, O_RDONLY)
        #expect(try another.lock())
        #expect(try !replace("one", "two") && text(path) == "one")
        another.unlock()
        #expect(try replace("one", "two"))
        #expect(try text(path) == "two" && mode(path) == 0o640)
        #expect(try replace("two", "three"))
        #expect(
            failure { () throws(FileError) in _ = try PrivateFile.replace([], with: [], in: path + "/x") }?.code
                == ENOTDIR)
    }

    @Test func `prepare creates a file with mode 0600 and removes other users' rights from an existing one`() throws {
        try PrivateFile.prepare(path)
        #expect(try mode(path) == 0o600)
        #expect(chmod(path, 0o644) == 0)
        try PrivateFile.prepare(path)
        #expect(try mode(path) == 0o600)
    }

    @Test func `only one holder has a lock at a time, and the error names the holding process`() throws {
        let lock = try FileLock(path)
        #expect(FileLock.isHeld(path) && FileLock.holder(of: path) == "process \(getpid())")
        #expect(throws: FileLock.LockError.held(by: "process \(getpid())")) { try FileLock(path) }
        lock.release()
        lock.release()
        #expect(!FileLock.isHeld(path))
        try FileLock(path).release()
        #expect(try text(path) == "\(getpid())\n" && mode(path) == 0o600)
    }

    @Test func `a lock is not taken through a symbolic link, and the link's target is unchanged`() throws {
        let mine = folder + "/mine"
        try PrivateFile.write(Array("what I wrote".utf8), to: mine)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: mine)
        do throws(FileLock.LockError) {
            _ = try FileLock(path)
            Issue.record("the lock was taken")
        } catch {
            #expect(FileError("make", path, code: ELOOP).description.contains("\(path): it is a symbolic link"))
            #expect(error == .refused(FileError("make", path, code: ELOOP)))
        }
        #expect(try text(mine) == "what I wrote")
    }

    @Test func `a folder is created with mode 0700, and so are its parents unless they are excluded`() throws {
        let deep = folder + "/a/b/c"
        #expect(failure { () throws(FileError) in try Folder.make(deep, withParents: false) }?.code == ENOENT)
        try Folder.make(deep)
        try Folder.make(deep)
        for path in [deep, folder + "/a"] { #expect(try mode(path) == 0o700) }
        try PrivateFile.write([], to: path)
        let error = failure { () throws(FileError) in try Folder.make(path) }
        #expect(error?.description == "cannot make the folder \(path): Not a directory")
    }

    @Test(arguments: [("/a/b", "/a"), ("/a", "/"), ("/", "/"), ("a", "."), ("/a/b/", "/a")])
    func `the parent of a path is the folder that contains it`(_ path: String, _ parent: String) {
        #expect(Folder.parent(of: path) == parent)
    }
}
