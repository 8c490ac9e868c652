import CloudClient
import JSON
import PluginKit

/// Posts each record once: by WebSocket, or by REST if there is no socket.
actor Poster {
    private let hub: PluginContext
    private let account: RenewingServiceCalls
    private let importer: Importer
    private let troubles: StatusReporter
    private let pace: ClientClock
    private var devices: [String: String] = [:]
    /// While it rests, posts go by REST.
    private var socketRest = RetryDelay(BackOff(first: .milliseconds(500), factor: 2, longest: .seconds(300)))
    private var refusedToken: OAuthToken?

    init(_ hub: PluginContext, _ account: RenewingServiceCalls, _ importer: Importer, _ troubles: StatusReporter) {
        (self.hub, self.account, self.importer, self.troubles) = (hub, account, importer, troubles)
        pace = ClientClock(hub)
    }

    /// - Throws: ``DeliveryFailure``.
    func deliver(_ records: [DeliveredRecord], _ post: Post) async throws -> [DeliveryResult] {
        do {
            return try await results(records, post)
        } catch let error as TokenError where error.needsLogIn {
            throw DeliveryFailure.unauthorized(error.message)
        } catch let error as CommandFailure where ["login", "permission"].contains(error.code) {
            throw DeliveryFailure.unauthorized(error.message)
        } catch let error as CloudError {
            // The device was removed; the next delivery looks for it or registers another.
            if error.code == .answered(404) { devices[post.name] = nil }
            throw DeliveryFailure.retry(error.message)
        }
    }

    private func results(_ records: [DeliveredRecord], _ post: Post) async throws -> [DeliveryResult] {
        var results: [DeliveryResult?] = []
        var facts: [(place: Int, fact: PostedValue)] = []
        for (place, record) in records.enumerated() {
            do throws(DeliveryFailure) {
                facts.append((place, try post.fact(of: record)))
                results.append(nil)
            } catch { results.append(.refused(reason: error.reason)) }
        }
        guard !facts.isEmpty else { return results.map { $0 ?? Self.unsent.result } }
        let device = try await device(post)
        var uncertain = try await UnconfirmedPosts(hub, post)
        let there = try await present(facts.map(\.fact), on: device)
        var due: [PostedValue: [Int]] = [:]
        var shown: [PostedValue] = []
        for (place, fact) in facts {
            if there[fact.time]?.contains(where: fact.isSame) == true {
                results[place] = .delivered
                shown.append(fact)
            } else if uncertain.isTaken(fact) {
                results[place] = .delivered
            } else if let wait = uncertain.wait(fact) {
                results[place] = .retry(
                    after: wait, reason: "it was sent and not answered, and the service may show it yet")
            } else {
                due[fact, default: []].append(place)
            }
        }
        try await uncertain.remove(shown)
        let ordered = due.keys.sorted { ($0.time, $0.field) < ($1.time, $1.field) }
        guard !ordered.isEmpty else { return results.map { $0 ?? Self.unsent.result } }
        try await uncertain.add(ordered)
        let sent = try await send(ordered, post, device)
        let fates = Array(zip(ordered, sent.fates))
        try await uncertain.note(
            taken: Set(fates.filter { if case .known(.delivered) = $0.1 { true } else { false } }.map(\.0)),
            unanswered: Set(fates.filter { $0.1 == .unknown }.map(\.0)), of: ordered)
        for (fact, fate) in fates {
            for place in due[fact] ?? [] { results[place] = fate.result }
        }
        // If nothing was delivered, fail the delivery, so that the subscription rests longer each time.
        if let failure = sent.failure, !results.contains(where: { if case .delivered = $0 { true } else { false } }) {
            throw failure
        }
        return results.map { $0 ?? Self.unsent.result }
    }

    // MARK: - Posted values

    /// The values that the device already has at these times, so that a message without an answer is not posted twice.
    private func present(_ facts: [PostedValue], on device: String) async throws -> [Int64: [PostedValue]] {
        let times = facts.map(\.time)
        guard let first = times.min(), let last = times.max() else { return [:] }
        var there: [Int64: [PostedValue]] = [:]
        let wanted = Set(times)
        var (cursor, cursors) = (String?.none, Set<String>())
        repeat {
            let page = MessagePage(
                try await account.call(account.service.messages(of: device, from: first, to: last, after: cursor)))
            for message in page.messages where wanted.contains(message.time) {
                there[message.time, default: []] += message.data.compactMap { field, value in
                    value.lenientDouble.map { PostedValue(time: message.time, field: field, value: $0) }
                }
            }
            cursor = page.next
            if let cursor, !cursors.insert(cursor).inserted {
                throw DeliveryFailure.retry("the service gives the same page again and again")
            }
        } while cursor != nil
        return there
    }

    /// The device to post to, found by its name or registered.
    private func device(_ post: Post) async throws -> String {
        if let known = devices[post.name] { return known }
        let user = try await importer.ownUser()
        let name = post.device(hub.instance)
        let catalog = Catalog(account)
        if let found = try await catalog.devices(of: user.id).first(where: { $0.name == name }) {
            devices[post.name] = found.id
            return found.id
        }
        let types = try await account.call(SAMIService.deviceTypes(named: post.deviceType))
        guard let type = types["data"]?["deviceTypes"]?.list?.first?["id"]?.text else {
            throw CommandFailure("service", "the service has no device type \"\(post.deviceType)\"")
        }
        let made = try await account.call(try SAMIService.addDevice(name, type: type, user: user.id))
        guard let id = made["data"]?["id"]?.text else {
            throw CommandFailure("service", "the service did not say which device it has made")
        }
        hub.logger.notice("a device was registered", metadata: ["name": "\(name)"])
        devices[post.name] = id
        return id
    }

    // MARK: - Sending

    /// The outcome of a message.
    private enum SendingState: Equatable {
        case known(DeliveryResult)
        /// The message was sent and not answered.
        case unknown

        var result: DeliveryResult {
            switch self {
            case .known(let result): result
            case .unknown:
                .retry(after: 2_000, reason: "it was sent and not answered; it is looked for at the service")
            }
        }
    }

    private static let unsent = SendingState.known(
        .retry(after: 1_000, reason: "the way to the service ended before it was sent"))

    private func send(
        _ facts: [PostedValue], _ post: Post, _ device: String
    ) async throws -> (fates: [SendingState], failure: (any Error)?) {
        let messages = facts.map { fact in
            SAMIService.message([fact.field: post.value(of: fact)], at: fact.time, device: device)
        }
        if account.service.settings.postsBySocket, socketRest.isOver(pace),
            let fates = try await sendBySocket(messages, facts, post, device)
        {
            return (fates, nil)
        }
        var fates: [SendingState] = []
        for (message, fact) in zip(messages, facts) {
            do {
                let answer = try await account.call(SAMIService.post(message))
                fates.append(.known(.delivered(receipt: answer["data"]?["mid"]?.text)))
            } catch let error as CloudError {
                if let code = error.refusal, code != 404 {
                    fates.append(fate(of: fact, code, error.message, nil))
                    continue
                }
                // The device was removed; the next delivery registers another.
                if error.code == .answered(404) { devices[post.name] = nil }
                fates.append(error.mayHaveHadEffect ? .unknown : Self.unsent)
                fates += Array(repeating: Self.unsent, count: facts.count - fates.count)
                return (fates, error)
            } catch {
                fates += Array(repeating: Self.unsent, count: facts.count - fates.count)
                return (fates, error)
            }
        }
        return (fates, nil)
    }

    /// - Returns: nil if there is no WebSocket; then nothing was sent.
    private func sendBySocket(
        _ messages: [[String: JSONTree]], _ facts: [PostedValue], _ post: Post, _ device: String
    ) async throws -> [SendingState]? {
        let socket = PostSocket(account: account, clock: hub.clock)
        var token = try await account.token(insteadOf: refusedToken)
        var report = try await socket.send(messages, of: device, token)
        if report.isUnauthorized, report.sent == 0 {
            token = try await account.token(insteadOf: token)
            report = try await socket.send(messages, of: device, token)
        }
        refusedToken = nil
        if let failure = report.failure, report.answers.isEmpty {
            socketRest.begin(pace)
            await troubles.tell(
                .posts,
                "posts go by REST, because there is no WebSocket (\(failure)); it is retried automatically; if that does not help, check the setting websocket of [plugin.\(hub.instance)]"
            )
            if report.sent == 0 { return nil }
        } else {
            socketRest.reset()
            await troubles.end(.posts)
        }
        return facts.enumerated().map { place, fact in
            switch report.answers[place] {
            case .taken(let mid): return .known(.delivered(receipt: mid))
            case .refused(let refusal):
                if refusal.code == 401 { refusedToken = token }
                if refusal.code == 404 { devices[post.name] = nil }
                return fate(
                    of: fact, refusal.code, "the service answered \(refusal.code) \(refusal.message)", refusal.wait)
            case nil: return place < report.sent ? .unknown : Self.unsent
            }
        }
    }

    /// The outcome for the record after a refusal.
    private func fate(of fact: PostedValue, _ code: Int, _ message: String, _ wait: Duration?) -> SendingState {
        switch code {
        case 409: return .known(.delivered)
        case 401, 404: return .known(.retry(after: 1_000, reason: message))
        case 403:
            return .known(
                .unauthorized(
                    reason:
                        "\(message): the application lacks the permission; give it, then run hub login \(hub.instance)")
            )
        case 429:
            return .known(
                .retry(after: Int64((wait ?? .seconds(60)) / .milliseconds(1)), reason: "the service's limit of posts"))
        case 500...: return .unknown
        default:
            let ahead = fact.time - account.watch.now
            guard ahead > 0 else { return .known(.refused(reason: message)) }
            return .known(
                .retry(
                    after: max(60_000, min(ahead, DeliveryResult.retryBounds.upperBound)),
                    reason: "its date is ahead of the service's clock, which does not take that yet"))
        }
    }
}

extension CloudError {
    /// The status of an answer that rejects the request.
    fileprivate var refusal: Int? { (400..<500).first { code == .answered($0) } }
}

extension Post {
    /// The value to post for a record.
    ///
    /// - Throws: the reason why it is refused.
    func fact(of record: DeliveredRecord) throws(DeliveryFailure) -> PostedValue {
        guard case .sample(let sample) = record.record, let field = fields[sample.type.rawValue],
            case .quantity(let value, let unit) = sample.value
        else { throw .refused("SAMI takes single values here, and cannot take anything back") }
        guard let own = try? HealthUnit(field.unit), let number = try? HealthUnit(unit).convert(value, to: own) else {
            throw .refused("the value does not convert to \(field.unit)")
        }
        guard !field.isWhole || Int64(exactly: number) != nil else {
            throw .refused("\(field.name) takes whole numbers only")
        }
        return PostedValue(time: sample.start.microseconds / 1_000, field: field.name, value: number)
    }

    func value(of fact: PostedValue) -> JSONTree {
        let isWhole = fields.values.first { $0.name == fact.field }?.isWhole == true
        return isWhole ? .whole(Int64(fact.value)) : .number(fact.value)
    }
}
