import HubSessions
import HubStore
import HubWire
import Logging
import Samples

/// Opening sessions, and what they say in passing.
extension Door {
    /// Judges a HELLO by configuration and registry, and opens its session or refuses it.
    func welcome(_ hello: Hello, _ peer: RoutingID, _ endpoint: Endpoint) {
        do throws(WireError) {
            let policy = try policy(for: hello, endpoint).declaring(hello.declares)
            let registry = try registry(with: hello.declares, of: hello.instance)
            if clients[peer]?.policy == policy, let session = sessions.repeated(hello, from: peer, at: now) {
                return send(.welcome(welcome(hello, policy, session, endpoint)), to: peer)
            }
            let isAnew = clients[peer]?.hello.instance == hello.instance
            let (reference, actions) = sessions.open(hello, from: peer, endpoint: endpoint, at: now)
            perform(actions)
            let intake = BatchIntake(
                instance: hello.instance, policy: policy, rules: facts.rules,
                validation: RecordValidation(registry: registry))
            clients[peer] = Client(
                reference, endpoint, logIn: logIn(of: endpoint), hello, policy, registry, intake)
            ledger.sessionBegan(hello)
            if endpoint != .owner, hello.mode == .run { bell.sessionBegan(hello.instance) }
            // Whoever greets again before each question, as a follower may, is no news.
            logOfSessions(
                isAnew ? .debug : .info, "session began",
                [
                    "instance": "\(hello.instance)", "plugin": "\(hello.plugin)",
                    "version": "\(hello.version.prefix(32))",
                    "mode": "\(hello.mode)",
                ])
            send(.welcome(welcome(hello, policy, reference, endpoint)), to: peer)
            if endpoint != .owner { tellWhatIsInVain(peer) }
        } catch {
            perform(sessions.refuse(error, from: peer))
        }
    }

    /// As whom libzmq names those who come in there.
    private func logIn(of endpoint: Endpoint) -> String? {
        switch endpoint {
        case .owner: nil
        case .plugin(let user): user
        case .remote(let user): user.flatMap(network.key).map(LogIn.text) ?? LogIn.anyone
        }
    }

    private func policy(for hello: Hello, _ endpoint: Endpoint) throws(WireError) -> InstancePolicy {
        guard hello.plugin != ManualRecord.plugin, hello.instance != "hub" else {
            throw WireError(
                .instance, "HELLO: the plugin \"hand\" and the instance \"hub\" are the hub's own; take other names")
        }
        guard !endpoint.isRemote || facts.instances[hello.instance]?.remote != nil else {
            throw WireError(
                .instance, "HELLO.instance: hub.conf has no [plugin.\(hello.instance)] with remote = true")
        }
        try leaveToItsOwn(hello, endpoint)
        if let policy = facts.instances[hello.instance] {
            guard policy.plugin == nil || policy.plugin == hello.plugin else {
                throw WireError(
                    .instance,
                    "HELLO.plugin: [plugin.\(hello.instance)] of hub.conf is \(policy.plugin ?? ""), not \(hello.plugin); start that program, or take another instance name"
                )
            }
            return policy
        }
        switch endpoint {
        case .owner: return facts.strangers
        case .plugin:
            // Its token is valid: the hub has started it, and is ending it because hub.conf has changed meanwhile.
            throw WireError(
                .instance,
                "HELLO.instance: hub.conf does not enable [plugin.\(hello.instance)] any more; the hub ends this process"
            )
        case .remote:
            throw WireError(.instance, "HELLO.instance: hub.conf has no [plugin.\(hello.instance)]")
        }
    }

    /// R4.26: at the owner's door nothing shows who somebody is, and the one who has shown it would be ended by [R4.3].
    private func leaveToItsOwn(_ hello: Hello, _ endpoint: Endpoint) throws(WireError) {
        guard endpoint == .owner, hello.mode == .run else { return }
        if tokens.isAdmitted(hello.instance) {
            throw WireError(
                .forbidden,
                "HELLO.instance: the hub runs [plugin.\(hello.instance)] itself; give this program another instance name, or set enabled = false there and say hub apply"
            )
        }
        if let runner = sessions.runner(of: hello.instance), sessions[runner]?.endpoint.isRemote == true {
            throw WireError(
                .forbidden,
                "HELLO.instance: \(hello.instance) is connected over the network with its key; give this program another instance name"
            )
        }
    }

    private func registry(
        with declarations: [TypeDeclaration], of instance: String
    ) throws(WireError) -> TypeRegistry {
        guard declarations.count <= DeclaredTypes.boundOfInstance else {
            throw WireError(
                .limit, "HELLO.declares: at most \(DeclaredTypes.boundOfInstance) types, found \(declarations.count)")
        }
        var (registry, types): (TypeRegistry, [HealthType]) = (.standard, [])
        for declaration in declarations {
            do throws(TypeError) {
                let type = try HealthType(
                    declaring: TypeID(declaration.id), kind: declaration.kind, unit: declaration.unit,
                    aggregation: declaration.aggregation)
                registry = try registry.registering(type)
                types.append(type)
            } catch {
                throw WireError(.field, "HELLO.declares: \(error)")
            }
        }
        try declared.add(types, of: instance)
        return registry
    }

    private func welcome(
        _ hello: Hello, _ policy: InstancePolicy, _ reference: SessionReference, _ endpoint: Endpoint
    ) -> Welcome {
        let announcement = facts.clock.announcement()
        let cursor = store.cursor
        return Welcome(
            version: ProtocolVersion.common(with: hello.protocols) ?? ProtocolVersion.spoken[0],
            session: "\(hello.instance)-\(sessionPrefix)-\(reference.serial)", hub: store.hubID, epoch: cursor.epoch,
            head: cursor.sequence, instance: hello.instance, plugin: hello.plugin, grants: policy.grants,
            limits: facts.policy.limits, credit: facts.policy.credit, heartbeat: facts.policy.heartbeat,
            settings: policy.settings,
            persons: facts.visiblePersons(policy, hello.instance),
            clock: announcement.clock, time: announcement.time,
            feed: endpoint == .owner ? facts.endpoints.feed : feed(of: hello.instance)?.endpoint ?? "",
            serves: Verb.allCases.filter(facts.policy.serves.contains))
    }

    /// Acts on a message that its session has admitted.
    func admit(_ message: ClientMessage, from peer: RoutingID) {
        guard let client = clients[peer] else { return }
        switch message {
        case .live(let live): pass(live, of: client)
        case .event(let event): pass(mask(of: client).hiding(event), of: client)
        case .want(let request):
            let (names, peer) = (FilterNames("WANT", client, facts), client.session)
            onDeliveries { $0.open(request, names, for: peer) }
        case .done(let report):
            let (report, peer) = (mask(of: client).hiding(report), client.session)
            onDeliveries { $0.take(report, from: peer) }
        case .query(let query): answer(query, for: client)
        case .command(let command): carryOut(command, for: client)
        case .progress(let progress): relay(mask(of: client).hiding(progress), from: client)
        case .outcome(let outcome): relay(mask(of: client).hiding(outcome), from: client)
        case .token(let request): answer(mask(of: client).hiding(request), for: client)
        case .tokenPut(let put): store(put, for: client)
        case .hello, .samples, .ping, .pong, .bye:
            break  // The session machine admits none of these: they are answered there, or not served.
        }
    }
}
