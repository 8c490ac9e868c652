import Glibc
import HubProcess
import Synchronization
import Testing
import ZeroMQ

/// Signals and shutdown during traffic.
@Suite(.timeLimit(.minutes(1))) struct DisturbanceTests {
    @Test func `a storm of signals loses or duplicates no message, and no caller sees EINTR`() throws {
        // The handler does nothing and is installed without SA_RESTART, so system calls on the signalled thread fail
        // with EINTR.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        var old = sigaction()
        #expect(sigaction(SIGUSR1, &action, &old) == 0)
        defer { sigaction(SIGUSR1, &old, nil) }

        let context = try Context()
        let directory = try TemporaryFolder()
        let endpoint = directory.endpoint("storm")
        let total = 20_000
        let received = Mutex<[Int]>([])
        let isOver = Atomic<Bool>(false)
        let receiver = TestThread {
            do {
                let pull = try Socket(.pull, in: context)
                try pull.bind(endpoint)
                var numbers: [Int] = []
                while numbers.count < total, try pull.wait(for: .readable, upTo: patience) != [] {
                    while let message = try pull.receive() { numbers.append(message.text.flatMap { Int($0) } ?? -1) }
                }
                received.withLock { $0 = numbers }
            } catch {
                Issue.record(error)
            }
            isOver.store(true, ordering: .releasing)
        }
        let sender = TestThread {
            do {
                let push = try Socket(.push, in: context)
                try push.set(.linger, to: patience)
                try push.connect(endpoint)
                for number in 0..<total {
                    var message = Message("\(number)")
                    while try push.send(&message) != .sent { _ = try push.wait(for: .writable, upTo: patience) }
                }
                while !isOver.load(ordering: .acquiring) { _ = try push.wait(for: .readable, upTo: .milliseconds(1)) }
            } catch {
                Issue.record(error)
            }
        }
        while !isOver.load(ordering: .acquiring) {
            pthread_kill(receiver.id, SIGUSR1)
            pthread_kill(sender.id, SIGUSR1)
            sched_yield()
        }
        receiver.join()
        sender.join()
        let numbers = received.withLock { $0 }
        let firstWrong = numbers.indices.first { numbers[$0] != $0 }
        #expect(numbers.count == total && firstWrong == nil)
    }

    @Test func `a wait without messages lasts its whole time`() throws {
        let socket = try Socket(.pull, in: try Context())
        try socket.bind("inproc://silence")
        let start = ContinuousClock.now
        #expect(try socket.wait(for: .readable, upTo: .milliseconds(20)) == [])
        #expect(ContinuousClock.now >= start + .milliseconds(20))
    }

    @Test(arguments: ["inproc", "ipc"])
    func `shutdown with traffic in flight ends every operation with contextTerminated`(transport: String) throws {
        for round in 0..<10 {
            let context = try Context()
            let directory = try TemporaryFolder()
            let endpoint = transport == "ipc" ? directory.endpoint("busy") : "inproc://busy"
            let codes = Mutex<[ZeroMQError.Code]>([])
            // Uses a separate context. Each sender signals here when it has received `round` echoes.
            let bystander = try Context()
            let signal = try Socket(.pull, in: bystander)
            try signal.bind("inproc://signal")
            func thread(_ work: @escaping @Sendable () throws -> Void) -> TestThread {
                TestThread {
                    do { try work() } catch {
                        codes.withLock { $0.append((error as? ZeroMQError)?.code ?? .unknown) }
                    }
                }
            }
            let receiver = thread {
                let router = try Socket(.router, in: context)
                try router.bind(endpoint)
                var message = Multipart()
                while true {
                    _ = try router.wait(for: .readable, upTo: nil)
                    while case .complete = try router.receiveMultipart(into: &message) {
                        _ = try router.sendMultipart(&message)
                    }
                }
            }
            let senders = (0..<2).map { _ in
                thread {
                    let dealer = try Socket(.dealer, in: context)
                    try dealer.set(.linger, to: .milliseconds(10))
                    try dealer.connect(endpoint)
                    let signal = try Socket(.push, in: bystander)
                    try signal.connect("inproc://signal")
                    var echoes = 0
                    while true {
                        if echoes == round { _ = try signal.send(Message()) }
                        _ = try dealer.send(Message([UInt8](repeating: 1, count: 200)))
                        if try dealer.receive() != nil { echoes += 1 }
                    }
                }
            }
            for _ in senders { _ = try signal.next().count }
            context.shutdown()
            context.shutdown()
            receiver.join()
            for sender in senders { sender.join() }
            #expect(codes.withLock { $0 } == [.contextTerminated, .contextTerminated, .contextTerminated])
            let late = #expect(throws: ZeroMQError.self) { _ = try Socket(.pair, in: context) }
            #expect(late?.code == .contextTerminated)
        }
    }

    @Test func `a context terminates although messages are unsent and the peer does not exist`() throws {
        let socket = try Socket(.push, in: try Context())
        try socket.connect("tcp://127.0.0.1:1")
        _ = try socket.send(Message("never read"))
    }

    @Test func `a monitor may end before or after its socket`() throws {
        let context = try Context()
        let directory = try TemporaryFolder()
        let first = try Socket(.pull, in: context)
        let second = try Socket(.pull, in: context)
        let outlived = try first.monitor()
        do {
            let monitor = try second.monitor()
            try second.bind(directory.endpoint("second"))
            #expect(try monitor.next { _ in true } == .listening)
        }
        try first.bind(directory.endpoint("first"))
        first.close()
        #expect(try outlived.next { $0 == .monitorStopped } == .monitorStopped)
        // Connections work without the monitor: an I/O thread that waited for a receiver would block here.
        let push = try Socket(.push, in: context)
        try push.connect(directory.endpoint("second"))
        _ = try push.send(Message("x"))
        #expect(try second.nextTexts() == ["x"])
        let again = try second.monitor()
        #expect(try again.receive() == nil)
    }
}
