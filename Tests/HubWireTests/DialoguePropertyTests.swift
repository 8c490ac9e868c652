import HubProcess
import HubWire
import Platform
import PluginKit
import Testing

/// Simulates clients and a hub with cut links, hub restarts and store failures: no batch is lost or answered twice.
@Suite struct DialoguePropertyTests {
    @Test(arguments: Thoroughness.seeds(100))
    func `R4.2 R4.12 R4.18 R5.6 R5.7 despite faults each batch is stored and answered once, in order, within credit`(
        seed: UInt64
    ) throws {
        var world = World(seed: seed)
        for _ in 0..<600 { try world.step() }
        world.isCalm = true
        for index in world.clients.indices { world.finish(index) }
        var steps = 0
        while !world.isOver, steps < 20_000 {
            try world.step()
            steps += 1
        }
        #expect(world.isOver, "seed \(seed): \(world.clients.map(\.machine.state))")
        #expect(world.faults.isEmpty, "seed \(seed): \(world.faults)")
        for client in world.clients {
            #expect(client.machine.state == .ended(.finished), "seed \(seed)")
            #expect(
                client.answered == client.submitted,
                "seed \(seed): each batch is answered once, in the order of submission")
            #expect(
                world.firstStored[client.name] ?? [] == client.submitted,
                "seed \(seed): batches are stored in the order of submission")
        }
        #expect(world.table.all.values.allSatisfy { $0.batches.isEmpty }, "seed \(seed)")
    }

    /// A client with its link to the hub.
    struct Client {
        let name: String
        var machine: ClientMachine
        var peer: RoutingID
        var toHub: [OutgoingMessage] = []
        var toClient: [HubMessage] = []
        var submitted: [Int64] = []
        var answered: [Int64] = []
        var answers = 0
    }

    /// A batch that the hub has accepted but not committed.
    struct Pending {
        let session: SessionReference
        let batch: Int64
        let owner: String
        let ticket: Int64
        let records: Int
    }

    struct World {
        var random: SeededGenerator
        var now: Int64 = 0
        var clients: [Client] = []
        var table: SessionTable
        var restarts = 0
        var pending: [Pending] = []
        /// By client: the tickets in the order of their first commits.
        var firstStored: [String: [Int64]] = [:]
        var faults: [String] = []
        var isCalm = false
        var lastPeer: UInt8 = 0

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            table = SessionTable(policy: Self.policy)
            for name in ["a", "b"] {
                lastPeer += 1
                let machine = ClientMachine(hello: Hello(instance: name, plugin: name, version: "1"))
                clients.append(Client(name: name, machine: machine, peer: [lastPeer]))
            }
            for index in clients.indices { perform(clients[index].machine.start(at: now), index) }
        }

        static let policy = SessionPolicy(credit: Credit(records: 10, bytes: 600))

        var isOver: Bool { clients.allSatisfy { if case .ended = $0.machine.state { true } else { false } } }

        mutating func step() throws {
            now += Int64.random(in: 0...(isCalm ? 200 : 2_000), using: &random)
            for index in clients.indices { perform(clients[index].machine.tick(at: now), index) }
            perform(table.tick(at: now))
            let index = Int.random(in: clients.indices, using: &random)
            switch Int.random(in: 0..<(isCalm ? 90 : 100), using: &random) {
            case 0..<30: deliverToHub(index)
            case 30..<60: deliverToClient(index)
            case 60..<80: commit(answering: true)
            case 80..<90: if !isCalm { submit(index) }
            case 90..<93: cut(index)
            case 93..<95: failStore()
            case 95: commit(answering: false)
            case 96..<98: restart()
            default: now += 25_000  // Longer than any timeout.
            }
        }

        mutating func submit(_ index: Int) {
            let ticket = Int64(clients[index].submitted.count + 1)
            let count = Int.random(in: 1...4, using: &random)
            let records = RawRecords([String](repeating: "{\"ticket\":\(ticket)}", count: count))
            do throws(SubmitError) {
                let submission = try clients[index].machine.submit(OutgoingBatch(records: records), at: now)
                if submission.ticket.number != ticket { faults.append("ticket") }
                clients[index].submitted.append(ticket)
                perform(submission.actions, index)
            } catch {
                faults.append("\(error)")
            }
        }

        mutating func finish(_ index: Int) { perform(clients[index].machine.finish(at: now), index) }

        mutating func deliverToHub(_ index: Int) {
            guard !clients[index].toHub.isEmpty else { return }
            let message = clients[index].toHub.removeFirst()
            let peer = clients[index].peer
            let arrival = table.receive(message.frames, from: peer, at: now)
            if case .hello(let hello) = arrival {
                var session = table.repeated(hello, from: peer, at: now)
                if session == nil {
                    let opened = table.open(hello, from: peer, endpoint: .owner, at: now)
                    perform(opened.actions)
                    session = opened.session
                }
                let name = "\(restarts)-\(session?.serial ?? 0)"
                send(.welcome(.sample(session: name, credit: Self.policy.credit)), to: peer)
            }
            for action in arrival.actions {
                if case .store(let batch) = action.action, let session = table.reference(to: peer) {
                    let ticket = Self.ticket(of: message)
                    let envelope = try? ClientMessage.decode("SAMPLES", String(decoding: message.body, as: UTF8.self))
                    guard case .samples(let samples)? = envelope else { continue }
                    pending.append(
                        Pending(
                            session: session, batch: batch, owner: clients[index].name, ticket: ticket,
                            records: samples.records.count))
                } else {
                    perform([action])
                }
            }
        }

        static func ticket(of message: OutgoingMessage) -> Int64 {
            let text = String(decoding: message.body, as: UTF8.self)
            return text.firstMatch(of: /"ticket":(\d+)/).flatMap { Int64($0.1) } ?? 0
        }

        mutating func deliverToClient(_ index: Int) {
            guard !clients[index].toClient.isEmpty else { return }
            let message = clients[index].toClient.removeFirst()
            perform(clients[index].machine.receive(message, at: now), index)
        }

        /// Commits the oldest batch.
        ///
        /// If `answering` is false, the hub dies between commit and STORED.
        mutating func commit(answering: Bool) {
            guard !pending.isEmpty else { return }
            let batch = pending.removeFirst()
            if firstStored[batch.owner, default: []].contains(batch.ticket) == false {
                firstStored[batch.owner, default: []].append(batch.ticket)
            }
            guard answering else { return restart() }
            let results = [RecordResult](repeating: .stored(number: 1, sequence: 1), count: batch.records)
            let stored = Stored(batch: batch.batch, results: results, credit: .zero)
            let withholding = Credit(
                records: .random(in: 0...6, using: &random), bytes: .random(in: 0...400, using: &random))
            perform(
                table.answer(.stored(stored), to: .batch(batch.batch), in: batch.session, withholding: withholding))
        }

        /// Simulates a store that cannot commit the oldest batch, which also refuses the session's later batches.
        mutating func failStore() {
            guard let failed = pending.first else { return }
            pending.removeAll { $0.session == failed.session }
            let error = WireError(.store, "disk full", after: 500)
            perform(table.answer(.error(error), to: .batch(failed.batch), in: failed.session))
        }

        /// Breaks the connection: messages in flight are lost, and those that libzmq still holds use the next connection.
        mutating func cut(_ index: Int) {
            clients[index].toClient.removeAll()
            clients[index].toHub.removeFirst(Int.random(in: 0...clients[index].toHub.count, using: &random))
            if Bool.random(using: &random) { perform(table.gone(clients[index].peer)) }
            lastPeer &+= 1
            clients[index].peer = [lastPeer, UInt8.random(in: 0...255, using: &random)]
        }

        mutating func restart() {
            restarts += 1
            table = SessionTable(policy: Self.policy)
            pending.removeAll()
            for index in clients.indices { cut(index) }
        }

        mutating func send(_ message: HubMessage, to peer: RoutingID) {
            if case .error(let error) = message, error.code != .helloFirst, error.code != .store,
                error.code != .replaced
            {
                faults.append("\(error)")
            }
            if let index = clients.firstIndex(where: { $0.peer == peer }) { clients[index].toClient.append(message) }
            perform(table.sent(message.body.count, of: message.verb, to: peer))
        }

        mutating func perform(_ actions: [PeerAction]) {
            for action in actions {
                if case .reply(let message) = action.action { send(message, to: action.peer) }
            }
        }

        mutating func perform(_ actions: [ClientAction], _ index: Int) {
            for action in actions {
                switch action {
                case .send(let message): clients[index].toHub.append(message)
                case .stored(let ticket, _): clients[index].answered.append(ticket.number)
                case .refused(_, let error): faults.append("\(error)")
                case .ended(.fatal(let error)), .undeclared(let error): faults.append("\(error)")
                case .deliver(let message): faults.append("\(message)")
                case .opened, .lost, .stop, .ended: break
                }
            }
        }
    }
}
