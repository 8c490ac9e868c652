import ArgumentParser
import Foundation
import HubClient
import HubWire
import Logging
import PluginKit
import ZeroMQ

/// The hub of a bridge, and the name under which the bridge connects.
struct BridgeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The key file of a hub on another machine, from hub keys new there; $HUB_KEY if not given.",
            valueName: "file"))
    var key: String?
    @OptionGroup var options: ConfigurationOptions

    private var keyFile: String? {
        let path = key ?? ProcessInfo.processInfo.environment["HUB_KEY"]
        return path.flatMap { $0.isEmpty ? nil : $0 }
    }

    var hasKey: Bool { keyFile != nil }

    /// - Parameter name: the given or usual name; a key file has a name of its own.
    func place(as name: String?, usually usual: String) throws -> BridgeSession {
        if let path = keyFile {
            let key: HubKey
            do { key = try HubKey(path: path) } catch let failure as PluginFailure {
                throw Failure(.usage, failure.message)
            }
            if let warning = HubKey.warning(path: path) { Terminal.complain(warning) }
            guard name == nil || name == key.instance else {
                throw Failure(
                    .usage, "\(name ?? ""): the key \(path) belongs to \(key.instance); use that name, or none")
            }
            return BridgeSession(address: HubAddress(door: key.door, logIn: .key(key)), name: key.instance)
        }
        let name = name ?? usual
        guard PeerName.isValid(name) else { throw Failure(.usage, "\(name): expected \(PeerName.expected)") }
        let door = try options.endpoints().door
        if UnixSocket.presence(door) == .absent { Terminal.complain("no hub at \(door); waiting for it") }
        return BridgeSession(address: HubAddress(door: door), name: name)
    }
}

/// A session of a bridge that no hub has started: when a hub ends, it waits for the next one.
struct BridgeSession {
    let address: HubAddress
    let name: String

    func runner(_ mode: Hello.Mode, _ context: Context) -> SessionRunner {
        var logger = Logger(label: "hub bridge") { TerminalLogHandler(label: $0) }
        logger.logLevel = .warning
        var runner = SessionRunner(
            hello: Hello(instance: name, plugin: name, version: ProductVersion.current, mode: mode), address: address,
            logger: logger, context: context)
        runner.policy.outlivesHub = true
        runner.role = "bridge"
        runner.drainLimit = .seconds(2)
        return runner
    }
}

/// Ends a bridge with `_exit`, because a thread may still be waiting for a line.
enum BridgeExit {
    /// - Parameters:
    ///   - failure: a failure to report to the person; nil if all is well.
    static func leave(_ context: Context, _ failure: Failure?) -> Never {
        if let failure { Terminal.complain(failure.message) }
        // Let the last messages be sent.
        context.finish(within: .milliseconds(500))
        fflush(nil)
        _exit((failure?.exit ?? .success).rawValue)
    }

    /// Asks to stop on a signal, when the program has ended, and when the output has no reader any more.
    static func requests(
        _ signals: StopSignals, _ child: ChildProgram?, readerOf output: LineWriter
    ) -> AsyncStream<StopRequest> {
        let (requests, tell) = AsyncStream<StopRequest>.makeStream()
        let asked = signals.requests
        Task { for await request in asked { tell.yield(request) } }
        Task {
            _ = await child?.end()
            if child != nil { tell.yield(.asked) }
        }
        Task {
            await output.waitUntilReaderCloses()
            tell.yield(.asked)
        }
        return requests
    }

    /// The reason why the session did not end well, or nil; the details are already on stderr.
    static func failure(_ exit: PluginExit, door: String) -> Failure? {
        switch exit {
        case .done: nil
        case .unfinished: Failure(.tryAgain, "ended before all was done")
        case .refused: Failure(.forbidden, "the hub at \(door) does not want this session; the line before says why")
        case .usage: Failure(.usage, "\(door): the address cannot be used")
        default: Failure(.fault, "the session with the hub at \(door) failed; the line before says why")
        }
    }
}
