import Foundation
import HubClient
import HubSettings
import HubWire

/// A command of a plugin, from the command line to its result.
struct PluginCommandCall: Sendable {
    var instance: String
    var command: String
    /// `key=value`, as they were typed.
    var words: [String] = []
    var isDryRun = false
    /// Milliseconds.
    var deadline: Int64?
    /// The exit codes for the codes of its own failures.
    var exits: [String: HubExit] = [:]

    /// Runs the command to its end, with a progress bar; Ctrl-C cancels it.
    ///
    /// - Returns: its result, if it has one.
    func run(
        _ door: DoorClient, _ interruption: Interruption,
        ask: @escaping (CommandQuestion) throws -> CallCallbacks.Answer
    ) throws -> RawJSON? {
        let plugins = try JSON.answer([PluginText].self, try door.ask(.plugins))
        let declaration = plugins.first { $0.name == instance }?.commands?.first { $0.name == command }
        let bar = ProgressBar("\(command) \(instance)")
        defer { bar.end() }
        var watch = CallCallbacks()
        watch.progress = { bar.update($0) }
        watch.isCancelled = { interruption.isOver }
        watch.ask = { question in
            bar.end()
            return try ask(question)
        }
        let request = CommandRequest(
            id: 0, instance: instance, command: command,
            arguments: try PluginCommandCall.arguments(words, declaration?.arguments ?? []), isDryRun: isDryRun,
            deadline: deadline)
        switch try door.call(request, watch) {
        case .done(let result): return result
        case .failed(let code, let reason):
            let failure = DoorClient.failure("\(command) of \(instance)", code: code, reason)
            throw exits[code].map { Failure($0, failure.message) } ?? failure
        case .ask, .cancelled: throw Failure(.interrupted, "\(command) of \(instance): cancelled")
        }
    }

    /// The arguments as JSON, each of its declared type; the hub checks the values.
    static func arguments(
        _ words: [String], _ declarations: [SettingDeclaration],
        directory: String = FileManager.default.currentDirectoryPath
    ) throws(Failure) -> RawJSON {
        var values: [String: SettingValue] = [:]
        for word in words {
            guard let split = word.firstIndex(of: "="), split != word.startIndex else {
                throw Failure(.usage, "\(word): an argument is written key=value")
            }
            let (name, text) = (String(word[..<split]), String(word[word.index(after: split)...]))
            let type = declarations.first { $0.name == name }?.type
            let value = SettingAnswer.value(
                text, type ?? .string(), unit: HubConfiguration.unit(ofPersonal: name), directory: directory)
            if let further = value.list {
                // A list may repeat its key for each value, or separate values by commas.
                values[name] = .list((values[name]?.list ?? []) + further)
            } else if values.updateValue(value, forKey: name) != nil {
                throw Failure(.usage, "\(name): it is given twice")
            }
        }
        let encoder = JSONEncoder()
        guard let bytes = try? encoder.encode(values) else {
            throw Failure(.usage, "the arguments cannot be written as JSON")
        }
        return RawJSON(trusted: Array(bytes))
    }
}

extension ConfigurationOptions {
    /// Runs a command of a plugin, asks the person its questions, and returns its answer.
    ///
    /// - Parameter name: the name of the `hub` command that belongs to this plugin.
    func ask(
        _ plugin: String, _ command: String, _ words: [String], of name: String, isDryRun: Bool = false
    ) async throws -> RawJSON {
        let (endpoint, interruption) = (try endpoints().door, Interruption())
        let call = PluginCommandCall(instance: plugin, command: command, words: words, isDryRun: isDryRun)
        let result = try await blocking {
            try call.run(try DoorClient(endpoint: endpoint, command: name), interruption, ask: TerminalAnswer.ask)
        }
        guard let result else { throw Failure(.dialogue, "\(plugin) gave no answer to \(command)") }
        return result
    }
}
