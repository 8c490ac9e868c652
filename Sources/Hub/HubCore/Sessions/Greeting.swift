import HubSettings
import HubStore
import HubWire
import Logging
import Samples

/// Checks a HELLO, and answers it (Protocol §4.1).
extension Door {
    /// Checks a HELLO against configuration and registry, and opens its session or refuses it.
    func welcome(_ hello: Hello, _ peer: RoutingID, _ endpoint: Endpoint) {
        do throws(WireError) {
            let policy = try policy(for: hello, endpoint).declaring(hello.declares)
            let registry = try greetings.registry(with: hello.declares, of: hello.instance)
            if clients[peer]?.policy == policy, let session = sessions.repeated(hello, from: peer, at: now) {
                return send(.welcome(welcome(hello, policy, session, endpoint)), to: peer)
            }
            let isKnown = clients[peer]?.hello.instance == hello.instance
            let (reference, actions) = sessions.open(
                hello, from: peer, endpoint: endpoint, rights: policy.grants.owner, at: now)
            perform(actions)
            let intake = BatchIntake(
                instance: hello.instance, policy: policy, rules: facts.rules,
                validation: RecordValidation(registry: registry))
            let client = ClientSession(reference, hello, policy, registry, isOwners: endpoint == .owner)
            clients[peer] = Client(client, endpoint, logIn: gate.logIn(of: endpoint), intake)
            plugins.sessionBegan(hello, at: endpoint)
            // A client that greets again before each question, as a follower may, is only logged for debugging.
            logOfSessions(
                isKnown ? .debug : .info, "session began",
                [
                    "instance": "\(hello.instance)", "plugin": "\(hello.plugin)",
                    "version": "\(hello.version.prefix(32))",
                    "mode": "\(hello.mode)",
                ])
            send(.welcome(welcome(hello, policy, reference, endpoint)), to: peer)
            // Sending may have ended the session.
            if endpoint != .owner, let client = clients[peer] { feeds.reportDeniedSubscriptions(to: client) }
            pluginCommands.began(hello.instance)
        } catch {
            perform(sessions.refuse(error, from: peer))
        }
    }

    private func policy(for hello: Hello, _ endpoint: Endpoint) throws(WireError) -> InstancePolicy {
        guard !PeerName.reserved.contains(hello.plugin) || isImport(hello, endpoint),
            hello.instance != "hub"
        else {
            throw WireError(
                .instance,
                "HELLO: the plugins \"hand\" and \"hub\" and the instance \"hub\" are the hub's own; take other names")
        }
        guard !endpoint.isRemote || facts.instances[hello.instance]?.remote != nil else {
            throw WireError(
                .instance, "HELLO.instance: hub.conf has no [plugin.\(hello.instance)] with remote = true")
        }
        try requireUnclaimedInstance(hello, endpoint)
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

    /// R4.34: an owner's exported records are imported under their original source, even if that is the hub itself or manual entry.
    private func isImport(_ hello: Hello, _ endpoint: Endpoint) -> Bool {
        endpoint == .owner && hello.mode == .once && hello.instance == Greetings.importer
            && facts.instances[hello.instance] == nil
    }

    /// R4.26: at the owner's door a client cannot prove its identity, and R4.3 would end the session of the client that has proved it.
    private func requireUnclaimedInstance(_ hello: Hello, _ endpoint: Endpoint) throws(WireError) {
        guard endpoint == .owner, hello.mode == .run else { return }
        if gate.tokens.isAdmitted(hello.instance) {
            throw WireError(
                .forbidden,
                "HELLO.instance: the hub runs [plugin.\(hello.instance)] itself; give this program another instance name, or set enabled = false there and run hub apply"
            )
        }
        if let runner = sessions.runner(of: hello.instance), sessions[runner]?.endpoint.isRemote == true {
            throw WireError(
                .forbidden,
                "HELLO.instance: \(hello.instance) is connected over the network with its key; give this program another instance name"
            )
        }
    }

    private func welcome(
        _ hello: Hello, _ policy: InstancePolicy, _ reference: SessionReference, _ endpoint: Endpoint
    ) -> Welcome {
        let announcement = facts.clock.announcement()
        let cursor = store.cursor
        return Welcome(
            version: ProtocolVersion.common(with: hello.protocols) ?? ProtocolVersion.spoken[0],
            session: greetings.name(of: reference, hello.instance), hub: store.hubID, epoch: cursor.epoch,
            head: cursor.sequence, instance: hello.instance, plugin: hello.plugin, grants: policy.grants,
            limits: facts.policy.limits, credit: sessions[reference]?.window.window ?? .zero,
            heartbeat: facts.policy.heartbeat,
            settings: policy.settings,
            persons: facts.visiblePersons(policy, hello.instance),
            clock: announcement.clock, time: announcement.time,
            feed: endpoint == .owner ? facts.endpoints.feed : feeds.feed(of: hello.instance)?.endpoint ?? "",
            serves: Verb.allCases.filter(facts.policy.serves.contains))
    }
}

/// State of the hub's greetings: the types that instances have declared, and the names of sessions.
struct Greetings {
    /// The instance of `hub import`.
    static let importer = "hub-import"

    private(set) var declared = DeclaredTypes()
    /// The prefix of session names, so that no name repeats one of an earlier run of the hub (R4.31).
    private let prefix = String(UInt64.random(in: 0 ... .max), radix: 36)

    func name(of session: SessionReference, _ instance: String) -> String { "\(instance)-\(prefix)-\(session.serial)" }

    mutating func registry(
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
}

/// The types that instances have declared since the hub started: an id has the same meaning for all (R4.11).
struct DeclaredTypes {
    static let boundOfInstance = 256
    static let bound = 4_096

    private var owners: [TypeID: (type: HealthType, instances: Set<String>)] = [:]

    /// The standard types and all declared ones.
    var registry: TypeRegistry {
        // A declaration that contradicts the standard registry was refused before.
        owners.values.reduce(.standard) { registry, owner in (try? registry.registering(owner.type)) ?? registry }
    }

    /// Adds the declarations of an instance, all or none.
    ///
    /// An instance may change a declaration that no other instance shares, because its program may be newer now.
    /// - Throws: `field` if another instance has declared the id differently; `limit` if there are too many.
    mutating func add(_ types: [HealthType], of instance: String) throws(WireError) {
        var new = 0
        for type in types {
            guard let known = owners[type.id] else {
                new += 1
                continue
            }
            guard known.type.declaresTheSame(as: type) || known.instances == [instance] else {
                let others = known.instances.subtracting([instance]).sorted().joined(separator: ", ")
                throw WireError(
                    .field,
                    "HELLO.declares: \(type.id.rawValue): \(others) declares it as \(known.type.declaration), not as \(type.declaration)"
                )
            }
        }
        guard owners.count + new <= Self.bound else {
            throw WireError(.limit, "HELLO.declares: the hub knows \(owners.count) declared types, which is its limit")
        }
        for type in types {
            owners[type.id, default: (type, [])].type = type
            owners[type.id]?.instances.insert(instance)
        }
    }
}
