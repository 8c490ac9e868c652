import ArgumentParser
import Foundation
import HealthText
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
        let plugins = try door.ask(.plugins, as: [PluginEntry].self)
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

/// A command of `hub` for the plugins of one kind.
protocol PluginKindCommand: ParsableCommand { static var kind: String { get } }

/// The choice between several plugins of a kind.
struct PluginKindOptions<Command: PluginKindCommand>: ParsableArguments {
    @Option(help: ArgumentHelp("The plugin, as hub.conf names it.", valueName: "name")) var plugin = Command.kind
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document.") var json = false

    /// The zone for a person's moments.
    func zone(of person: String?) -> TimeZone { options.readingUnits()[person].zone ?? .current }

    /// Runs a command of the plugin, and asks the person its questions; prints the answer if JSON is wanted.
    ///
    /// - Returns: the answer, to show it to people; nil if it is printed.
    func ask<Answer: Decodable>(
        _ command: String, _ words: [String] = [], isDryRun: Bool = false, as type: Answer.Type
    ) async throws -> Answer? {
        let (endpoint, interruption) = (try options.endpoints().door, Interruption())
        let call = PluginCommandCall(instance: plugin, command: command, words: words, isDryRun: isDryRun)
        let name = Command.configuration.commandName ?? Command.kind
        let result = try await blocking {
            try call.run(try DoorClient(endpoint: endpoint, command: name), interruption, ask: TerminalAnswer.ask)
        }
        guard let result else { throw Failure(.dialogue, "\(plugin) gave no answer to \(command)") }
        guard !json else {
            try Output.json(result.text)
            return nil
        }
        return try JSON.answer(type, result)
    }
}

/// An answer of which only its arrival matters.
struct AnyAnswer: Decodable {}
