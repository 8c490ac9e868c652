import Foundation
import PluginKit

/// Work beside the hub's deliveries: a pending enrolment, heartbeats, comparisons after a restore, and the renewal of the
/// certificate.
actor BackgroundWork {
    private let hub: PluginContext
    private let enrolment: Enrolment
    private let centre: Centre
    private let book: ConsentBook
    private let patience: Duration
    /// Hello answers of the centre, from deliveries too.
    private let greetings: AsyncStream<HelloAnswer>
    /// Wakes the loop when there may be work; also yields every ten seconds.
    private let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    /// Interval of hellos without deliveries, so that the desk sees which hubs are silent.
    private static let signOfLife = Duration.seconds(900)
    private static let idle = Duration.seconds(60)
    /// Maximum clock skew in seconds; more makes days and weeks of a study wrong.
    private static let maximumSkew = 30.0
    private static let renewBefore: TimeInterval = 60 * 86_400
    /// Interval of checks for erased records: the hub does not report them, and each check reads all retractions.
    private static let betweenErased = Duration.seconds(86_400)

    private var nextHello = ContinuousClock.now
    private var nextErased = ContinuousClock.now
    private var retry = BackOff(first: .seconds(2), factor: 2, longest: .seconds(60))
    private var retryAt = ContinuousClock.now
    private var renewal = ContinuousClock.now
    /// The last reported problem that is not resolved.
    private var told: String?
    private var reportedSkew = false
    private var seenIncarnation: Int?
    private var reportedSingle = false

    private static let incarnationKey = "incarnation"
    /// Set while a comparison is due for another reason than a restore.
    static let compareKey = "compare"

    init(
        _ hub: PluginContext, _ enrolment: Enrolment, _ centre: Centre, _ book: ConsentBook, patience: Duration,
        greetings: AsyncStream<HelloAnswer>
    ) {
        (self.hub, self.enrolment, self.centre, self.book) = (hub, enrolment, centre, book)
        (self.patience, self.greetings) = (patience, greetings)
        (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Works until the plugin is stopped.
    func run() async {
        await withTaskGroup { group in
            group.addTask { [bell] in
                while (try? await Task.sleep(for: .seconds(10))) != nil { bell.yield() }
            }
            group.addTask { [greetings] in
                for await hello in greetings { await self.seen(hello) }
            }
            bell.yield()
            for await _ in rings {
                if Task.isCancelled || hub.isStopping { break }
                await turn()
            }
            group.cancelAll()
        }
    }

    /// Notices from a delivery's hello that the centre was restored.
    private func seen(_ hello: HelloAnswer) {
        guard seenIncarnation != hello.incarnation else { return }
        if seenIncarnation != nil { runDueWork() }
        seenIncarnation = hello.incarnation
    }

    /// Runs all due work now.
    func runDueWork() {
        (nextHello, nextErased, retryAt, renewal) = (.now, .now, .now, .now)
        bell.yield()
    }

    private func turn() async {
        guard .now >= retryAt else { return }
        do {
            try await work()
            retry.reset()
            await settle()
        } catch is CancellationError {
            return
        } catch {
            retryAt = .now + retry.next()
            let needsPerson = (error as? CentreError)?.kind != .moment && (error as? CentreError)?.kind != .later
            await tell("\(error)", needsPerson ? .error : .warning)
        }
    }

    private func work() async throws {
        guard let identity = hub.identity else { return }
        try await enrolment.goOn(identity.id, patience: patience)
        switch try await enrolment.state {
        case .notBegun: throw CentreError(.person, Enrolment.next)
        case .waiting: throw CentreError(.later, "the desk of the centre has not signed this hub's certificate yet")
        case .enrolled: break
        }
        if .now >= nextHello {
            let hello = try await centre.greet()
            try await welcome(hello, identity)
            nextHello = .now + Self.signOfLife
            if .now >= nextErased {
                try await erased.tell(epoch: identity.epoch, incarnation: hello.incarnation)
                nextErased = .now + Self.betweenErased
            }
        }
        try await renewCertificate()
        await centre.rest(after: Self.idle)
    }

    private var erased: ErasedRecords { ErasedRecords(hub: hub, centre: centre, book: book) }

    // MARK: - Answers to hello

    private func welcome(_ hello: HelloAnswer, _ identity: HubIdentity) async throws {
        await judge(hello)
        let known = try await hub.state.integer(Self.incarnationKey)
        let isDue = try await hub.state.integer(Self.compareKey) != nil
        let headKey = "head/\(identity.epoch)"
        // The start of the epoch, as far as this program can know: it is started with the hub.
        let noted = try await hub.state.integer(headKey)
        if noted == nil { try await hub.state.set(headKey, to: .integer(identity.head)) }
        let head = hello.mustReconcile ? noted ?? identity.head : nil
        let isOther = known != nil && known != Int64(hello.incarnation)
        if hello.mustReconcile || isOther || isDue {
            // Report erased records first, so that studies see them as briefly as possible; a restored hub must compare before that.
            if !hello.mustReconcile {
                try await erased.tell(epoch: identity.epoch, incarnation: hello.incarnation)
            }
            let why =
                hello.mustReconcile ? "this hub was restored" : isOther ? "the centre was restored" : "another consent"
            hub.logger.notice(
                "comparing with the centre", metadata: ["why": "\(why)", "head": "\(head.map(String.init) ?? "all")"])
            let sent = try await Reconciliation(hub: hub, centre: centre, book: book).run(
                epoch: identity.epoch, upTo: head)
            if let head {
                _ = try await centre.call("swept", "SELECT central.swept_v1($1) AS answer", ["\(head)"])
                nextErased = .now
            }
            hub.logger.notice("compared with the centre", metadata: ["records.sent": "\(sent)"])
            await event("compared", .info, "\(why): \(sent) records were sent again")
        }
        try await hub.state.transaction { transaction in
            try transaction.set(Self.incarnationKey, to: .integer(Int64(hello.incarnation)))
            try transaction.set(Self.compareKey, to: nil)
        }
    }

    private func judge(_ hello: HelloAnswer) async {
        if hello.settings.contains("single"), !reportedSingle {
            reportedSingle = true
            hub.logger.warning("\(UnsafeServerSettings.single)")
            await event("single", .warning, UnsafeServerSettings.single)
        }
        let isSkewed = abs(hello.skew) > Self.maximumSkew
        guard isSkewed != reportedSkew else { return }
        reportedSkew = isSkewed
        let seconds = Int(abs(hello.skew).rounded())
        let text =
            isSkewed
            ? "this hub's clock is \(seconds) s \(hello.skew > 0 ? "behind" : "ahead of") the centre's: set it, or times in studies are wrong"
            : "this hub's clock agrees with the centre's"
        hub.logger.warning("\(text)")
        await event("clock", isSkewed ? .warning : .info, text)
    }

    private func renewCertificate() async throws {
        guard .now >= renewal, let end = await enrolment.end, end.timeIntervalSinceNow < Self.renewBefore else {
            return
        }
        renewal = .now + .seconds(3_600)
        let centre = centre
        try await enrolment.renew { request in
            try await centre.call("renew", "SELECT central.renew_v1($1) AS answer", [request])
        }
    }

    // MARK: - Reports

    private func tell(_ reason: String, _ severity: DeviceEvent.Severity) async {
        guard told != reason else { return }
        if told == nil { hub.logger.warning("the centre cannot be used", metadata: ["centre.reason": "\(reason)"]) }
        told = reason
        await event("error", severity, reason)
    }

    private func settle() async {
        guard told != nil else { return }
        told = nil
        hub.logger.info("the centre can be used")
        if let event = try? DeviceEvent("error", isResolved: true) { await hub.event(event) }
    }

    private func event(_ name: String, _ severity: DeviceEvent.Severity, _ text: String) async {
        if let event = try? DeviceEvent(name, severity: severity, text: text) { await hub.event(event) }
    }
}
