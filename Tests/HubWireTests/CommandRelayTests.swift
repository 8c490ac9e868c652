import HubProcess
import HubWire
import Platform
import Testing

@Suite struct CommandRelayTests {
    private var relay = CommandRelay()
    private let owner = SessionReference(peer: [1], serial: 1)
    private let plugin = SessionReference(peer: [2], serial: 2)

    private mutating func begin(_ number: Int64 = 7, deadline: Int64? = nil, dryRun: Bool = false) -> [RelayAction] {
        relay.begin(
            "refresh", of: "kitchen", arguments: .emptyObject, isDryRun: dryRun, deadline: deadline, for: owner,
            number: number, to: plugin, at: 0)
    }

    private func failure(_ actions: [RelayAction]) -> (code: String, reason: String)? {
        for case .outcome(let outcome, _) in actions {
            if case .failed(let code, let reason) = outcome.content { return (code, reason) }
        }
        return nil
    }

    @Test mutating func `R8.12 the deadline error names the whole allowed time, including time already spent waiting`()
        throws
    {
        _ = relay.begin(
            "refresh", of: "kitchen", arguments: .emptyObject, isDryRun: false, deadline: 1, allowed: 60_000,
            for: owner,
            number: 7, to: plugin, at: 0)
        #expect(failure(relay.tick(at: 1))?.reason.contains("was not done within 60000 ms") == true)
    }

    @Test mutating func `R8.11 the plugin sees the hub's number, the caller its own, and one outcome ends the command`()
        throws
    {
        guard case .command(let asked, plugin) = begin(7)[0] else { throw Unexpected() }
        #expect(asked == CommandRequest(id: 1, command: "refresh"))
        let progress = try relay.receive(CommandProgress(id: 1, done: 1, total: 2), from: plugin, at: 5)
        #expect(progress == [.progress(CommandProgress(id: 7, done: 1, total: 2), to: owner)])
        let done = try relay.receive(CommandOutcome(id: 1, .done(result: nil)), from: plugin)
        #expect(done == [.outcome(CommandOutcome(id: 7, .done(result: nil)), to: owner)])
        #expect(throws: WireError.self) { try relay.receive(CommandOutcome(id: 1, .cancelled), from: plugin) }
        #expect(relay.ended(plugin).isEmpty && relay.nextDeadline == nil)
    }

    @Test
    mutating func `R8.15 only a pending question takes an answer, and only the addressed plugin may report an outcome`()
        throws
    {
        _ = begin()
        #expect(throws: WireError.self) { try relay.answer(.string("code"), to: 7, of: owner) }
        let stranger = SessionReference(peer: [2], serial: 3)
        let error = #expect(throws: WireError.self) {
            try relay.receive(CommandOutcome(id: 1, .cancelled), from: stranger)
        }
        #expect(error?.code == .field && error?.ref == nil)
        _ = try relay.receive(CommandOutcome(id: 1, .ask(CommandQuestion("code?"))), from: plugin)
        let answered = try relay.answer(.string("code"), to: 7, of: owner)
        #expect(answered == [.command(CommandRequest(id: 1, content: .answer(.string("code"))), to: plugin)])
        #expect(throws: WireError.self) { try relay.answer(.string("code"), to: 7, of: owner) }
    }

    @Test
    mutating func
        `R8.12 at the deadline the asker is told, the plugin cancelled, and its late outcome taken in silence`()
        throws
    {
        _ = begin(deadline: 500)
        #expect(relay.nextDeadline == 500)
        #expect(relay.tick(at: 499).isEmpty)
        let actions = relay.tick(at: 500)
        #expect(actions.first == .command(CommandRequest(id: 1, content: .cancel), to: plugin))
        let told = try #require(failure(actions))
        #expect(told.code == "deadline" && told.reason.contains("may have happened"))
        #expect(relay.count(of: plugin) == 1, "the command still counts, because the plugin may be carrying it out")
        #expect(try relay.receive(CommandProgress(id: 1, done: 1), from: plugin, at: 600).isEmpty)
        #expect(try relay.receive(CommandOutcome(id: 1, .done(result: nil)), from: plugin).isEmpty)
        #expect(relay.count(of: plugin) == 0)
    }

    @Test mutating func `R8.12 a cancelled plugin has ten seconds to end its command`() throws {
        _ = begin(deadline: 60_000)
        #expect(relay.cancel(7, of: owner, at: 100) == [.command(CommandRequest(id: 1, content: .cancel), to: plugin)])
        #expect(relay.cancel(7, of: owner, at: 200).isEmpty, "a second cancellation does nothing")
        #expect(relay.nextDeadline == 10_100)
        #expect(try relay.receive(CommandOutcome(id: 1, .ask(CommandQuestion("?"))), from: plugin).isEmpty)
        let actions = relay.tick(at: 10_100)
        #expect(actions.count == 1 && failure(actions)?.code == "deadline")
    }

    @Test mutating func `R8.13 losing a plugin fails its commands, and the errors say whether they may have happened`()
        throws
    {
        _ = begin(1)
        _ = begin(2, dryRun: true)
        let told = relay.ended(plugin)
        #expect(told.count == 2)
        #expect(failure([told[0]])?.code == "lost" && failure([told[0]])?.reason.contains("may have happened") == true)
        #expect(failure([told[1]])?.reason.contains("changed nothing") == true)
    }

    @Test mutating func `R8.14 the command of a disconnected caller is cancelled once`() throws {
        _ = begin()
        #expect(relay.ended(owner) == [.command(CommandRequest(id: 1, content: .cancel), to: plugin)])
        #expect(try relay.receive(CommandOutcome(id: 1, .cancelled), from: plugin).isEmpty)
    }

    @Test mutating func `R8.16 progress is rate limited to the latest report, which is also sent before the outcome`()
        throws
    {
        _ = begin()
        var told = 0
        for done in 0..<1_000 {
            told += try relay.receive(CommandProgress(id: 1, done: Int64(done)), from: plugin, at: Int64(done)).count
        }
        #expect(told == 10)
        #expect(relay.nextDeadline == 1_000)
        #expect(relay.tick(at: 1_000) == [.progress(CommandProgress(id: 7, done: 999), to: owner)])
        _ = try relay.receive(CommandProgress(id: 1, done: 1_000), from: plugin, at: 1_001)
        let end = try relay.receive(CommandOutcome(id: 1, .done(result: nil)), from: plugin)
        #expect(end.first == .progress(CommandProgress(id: 7, done: 1_000), to: owner) && end.count == 2)
        _ = begin()
        let long = CommandProgress(id: 2, done: 1, text: String(repeating: "ä", count: 5_000))
        guard case .progress(let cut, _) = try relay.receive(long, from: plugin, at: 0)[0] else { throw Unexpected() }
        #expect(cut.text.map { $0.utf8.count <= CommandRelay.progressText + 3 } == true)
    }

    @Test mutating func `a plugin has at most sixteen commands, including cancelled ones that have not ended`() throws {
        for number in 1...16 as ClosedRange<Int64> { _ = begin(number, deadline: 10) }
        _ = relay.tick(at: 10)
        #expect(failure(begin(17))?.code == "busy")
        _ = try relay.receive(CommandOutcome(id: 3, .cancelled), from: plugin)
        #expect(failure(begin(18)) == nil)
    }

    private struct Unexpected: Error {}

    @Test(arguments: Thoroughness.seeds(40))
    func `R8.11 each command has exactly one outcome for any order of events`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var model = RelayModel()
        for _ in 0..<400 { model.step(&random) }
        model.endAllPlugins()
        for (command, outcomes) in model.outcomes {
            let isGone = model.goneOwners.contains(command.owner)
            #expect(isGone ? outcomes <= 1 : outcomes == 1, "seed \(seed): \(command) had \(outcomes)")
        }
        #expect(model.outcomes.count > 50)
        #expect(model.relay.nextDeadline == nil)
    }
}

/// Three owners and two plugins that act at random, and the outcomes that the owners get.
private struct RelayModel {
    struct Command: Hashable { let owner: SessionReference, number: Int64 }

    var relay = CommandRelay()
    var outcomes: [Command: Int] = [:]
    var goneOwners: Set<SessionReference> = []
    private var owners = (1...3).map { SessionReference(peer: [UInt8($0)], serial: UInt64($0)) }
    private var plugins = (11...12).map { SessionReference(peer: [UInt8($0)], serial: UInt64($0)) }
    private var serial: UInt64 = 100
    private var asked: [(id: Int64, plugin: SessionReference)] = []
    private var now: Int64 = 0

    mutating func step(_ random: inout SeededGenerator) {
        now += .random(in: 0...300, using: &random)
        let owner = Int.random(in: owners.indices, using: &random)
        let plugin = Int.random(in: plugins.indices, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<7:
            serial += 1
            outcomes[Command(owner: owners[owner], number: Int64(serial))] = 0
            take(
                relay.begin(
                    "c", of: "p", arguments: .emptyObject, isDryRun: false,
                    deadline: Bool.random(using: &random) ? .random(in: 1...2_000, using: &random) : nil,
                    for: owners[owner], number: Int64(serial), to: plugins[plugin], at: now))
        case 7..<14:
            guard let call = asked.randomElement(using: &random) else { return }
            let contents: [CommandOutcome.Content] = [
                .done(result: nil), .cancelled, .ask(CommandQuestion("?")), .failed(code: "x", reason: "y"),
            ]
            let content = contents[Int.random(in: 0..<4, using: &random)]
            take((try? relay.receive(CommandOutcome(id: call.id, content), from: call.plugin)) ?? [])
        case 14:
            guard let call = asked.randomElement(using: &random) else { return }
            take((try? relay.receive(CommandProgress(id: call.id, done: 1), from: call.plugin, at: now)) ?? [])
        case 15..<17:
            guard let command = outcomes.keys.filter({ $0.owner == owners[owner] }).randomElement(using: &random)
            else { return }
            if Bool.random(using: &random) {
                take(relay.cancel(command.number, of: command.owner, at: now))
            } else {
                take((try? relay.answer(.string("a"), to: command.number, of: command.owner)) ?? [])
            }
        case 17:
            serial += 1
            take(relay.ended(plugins[plugin]))
            plugins[plugin] = SessionReference(peer: plugins[plugin].peer, serial: serial)
        case 18 where Int.random(in: 0..<10, using: &random) == 0:
            serial += 1
            goneOwners.insert(owners[owner])
            take(relay.ended(owners[owner]))
            owners[owner] = SessionReference(peer: owners[owner].peer, serial: serial)
        default: take(relay.tick(at: now))
        }
    }

    mutating func endAllPlugins() {
        for plugin in plugins { take(relay.ended(plugin)) }
    }

    private mutating func take(_ actions: [RelayAction]) {
        for action in actions {
            switch action {
            case .command(let request, let plugin):
                if case .run = request.content { asked.append((request.id, plugin)) }
            case .outcome(let outcome, let owner):
                if case .ask = outcome.content { break }
                outcomes[Command(owner: owner, number: outcome.id), default: 0] += 1
            case .progress: break
            }
        }
    }
}
