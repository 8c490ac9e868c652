/// A command of the hub itself (Protocol §8.2, §8.3); a value has its arguments.
///
/// Each command is described here once: its declaration, its arguments and its result. The hub carries it out, `hub` and the plugins send it,
/// and `Docs/Schemas/commands` and the documents are compared with it. ``OwnCommands/all`` lists them.
package protocol OwnCommand: Codable, Sendable {
    /// The result of its OUTCOME, also of a dry run.
    associatedtype Result: CommandResult

    /// Name, help, arguments, and whether it supports a dry run. The members of the type have the names of the arguments.
    ///
    /// ``OwnerRight`` has the same name: a plugin needs this right for the command.
    static var declaration: CommandDeclaration { get }

    /// Whether a plugin also needs the right to read and write all types of all persons.
    ///
    /// Without it, a plugin's command affects only records that the plugin may read and write.
    static var demandsAll: Bool { get }
}

extension OwnCommand {
    package static var demandsAll: Bool { false }
    package static var name: String { declaration.name }
    /// The arguments as they are sent.
    package var arguments: RawJSON { RawJSON(encoding: self) }

    /// Reads the result of its OUTCOME.
    package static func result(_ json: RawJSON?) throws(UnreadableResult) -> Result { try Result.read(json, of: name) }
}

/// The hub's answer to a command is not understood.
package struct UnreadableResult: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// The result of a command, which the hub writes and every asker reads.
package protocol CommandResult: Sendable {
    /// - Throws: an error that says what of the JSON is not understood.
    init(_ json: RawJSON) throws
    var json: RawJSON { get }
}

extension CommandResult {
    /// Reads the result of an OUTCOME.
    package static func read(_ json: RawJSON?, of command: String) throws(UnreadableResult) -> Self {
        guard let json else {
            throw UnreadableResult(
                description:
                    "the hub has not reported the result of \(command); hub status and hub samples show whether it was done"
            )
        }
        do { return try Self(json) } catch {
            throw UnreadableResult(
                description: "the hub's answer to \(command) is of another version than this program: \(error)")
        }
    }
}

extension CommandResult where Self: Codable {
    package init(_ json: RawJSON) throws { self = try json.decoded() }
    package var json: RawJSON { RawJSON(encoding: self) }
}

/// The result of a command that usually reports something else than a change of each record.
package enum RecordsOr<Other: CommandResult>: CommandResult {
    case records(ManualAnswer)
    case other(Other)

    package init(_ json: RawJSON) throws {
        if let other = try? Other(json) { self = .other(other) } else { self = .records(try ManualAnswer(json)) }
    }

    package var json: RawJSON {
        switch self {
        case .records(let answer): answer.json
        case .other(let other): other.json
        }
    }
}
