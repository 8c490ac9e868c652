import Foundation
package import HubClient
package import HubWire
import JSON
import Platform
package import Samples

/// The file that keeps a follower's place between its runs; only one process may use it at a time.
package final class FollowCursorFile: Sendable {
    package let path: String
    private let question: String
    private let lock: FileLock

    /// - Parameter filter: the records to follow; a place saved for another filter is not valid.
    /// - Throws: `Failure` if the file cannot be used, or another process uses it.
    package init(_ path: String, _ filter: QueryRequest.Filter) throws(Failure) {
        self.path = path
        question = Self.text(filter)
        do throws(FileError) { try Folder.make(Folder.parent(of: path)) } catch {
            throw Failure(.system, "the state file \(path): \(error)")
        }
        do throws(FileLock.LockError) { lock = try FileLock(path + ".lock") } catch {
            switch error {
            case .held(let holder):
                throw Failure(
                    .system,
                    "the state file \(path) is in use by \(holder): a place has one follower; give another --as or --state"
                )
            case .refused(let error): throw Failure(.system, "the state file \(path): \(error)")
            }
        }
    }

    private static func text(_ filter: QueryRequest.Filter) -> String {
        String(decoding: ClientMessage.query(QueryRequest(id: 0, filter: filter)).body, as: UTF8.self)
    }

    /// The place where the last run ended; nil if there was none.
    package func last() throws(Failure) -> Cursor? {
        let bytes: [UInt8]?
        do throws(FileError) { bytes = try PrivateFile.read(path, upTo: 65_536) } catch {
            throw Failure(.system, "the state file \(path): \(error)")
        }
        guard let bytes else { return nil }
        guard let tree = JSONTree(bytes), let cursor = tree["cursor"]?.text.flatMap(Cursor.init) else {
            throw Failure(.usage, "the state file \(path) has no cursor; remove it and say where to begin with --since")
        }
        guard tree["question"]?.text == question else {
            throw Failure(
                .usage,
                "the state file \(path) is of another selection (types, persons or kinds); give another --as or --state, "
                    + "or remove it and say where to begin with --since")
        }
        return cursor
    }

    func save(_ cursor: Cursor) throws(Failure) {
        let tree = JSONTree.object([.init("cursor", .text(cursor.description)), .init("question", .text(question))])
        do throws(FileError) { _ = try PrivateFile.write(tree.bytes + [UInt8(ascii: "\n")], to: path) } catch {
            throw Failure(.system, "the state file \(path): \(error)")
        }
    }
}
