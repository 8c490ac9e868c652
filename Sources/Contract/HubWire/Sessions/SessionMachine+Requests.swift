/// The requests of a session, and how many of each it may have open.
extension SessionMachine {
    mutating func receive(_ query: QueryRequest) -> [SessionAction] {
        if query.want.isOfOwner, !hasOwnerRight(query.want.rawValue) {
            return refuse(ownerOnly("QUERY.want", query.want.rawValue, ref: query.id))
        }
        guard !queries.contains(query.id) else {
            return refuse(WireError(.field, "QUERY.id: query \(query.id) is still open", ref: query.id))
        }
        guard queries.count < policy.limits.queries else {
            return refuse(
                WireError(
                    .busy, "QUERY: \(queries.count) queries of this session are open; wait for a RESULT", ref: query.id)
            )
        }
        queries.append(query.id)
        return [.admit(.query(query))]
    }

    /// Whether the session has the owner's right with this word (R8.6).
    ///
    /// A network session never has one: a key identifies the peer there, and the hub did not start its process.
    private func hasOwnerRight(_ word: String) -> Bool {
        switch endpoint {
        case .owner: true
        case .plugin: rights.contains(word)
        case .remote: false
        }
    }

    /// The owner's right that this session lacks for a command, by its word; `nil` if it may give the command (R8.10).
    private func deniedWord(of command: CommandRequest) -> String? {
        let mayCommand =
            endpoint == .owner
            || rights.contains { OwnerRight(rawValue: $0).map(OwnerRight.ofCommands.contains) ?? false }
        guard case .run(let instance, let name, _, _, _) = command.content else {
            return mayCommand && !endpoint.isRemote ? nil : OwnerRight.commands.rawValue
        }
        let isOfPlugin = instance.map { $0 != "hub" } ?? false
        let word = isOfPlugin ? OwnerRight.commands.rawValue : name
        // An unknown command is reported as unknown only to sessions that may give some command.
        let isKnown = OwnerRight(rawValue: word).map(OwnerRight.ofCommands.contains) ?? false
        if !isKnown, mayCommand, !endpoint.isRemote { return nil }
        return hasOwnerRight(word) ? nil : word
    }

    /// The error that refuses an owner's request, with the grant that would allow it.
    private func ownerOnly(_ member: String, _ word: String, ref: Int64) -> WireError {
        guard OwnerRight(rawValue: word) != nil else {
            return WireError(
                .forbidden, "\(member): the hub has no command \"\(word.prefix(64))\" that could be granted", ref: ref)
        }
        guard word != OwnerRight.setup.rawValue else {
            return WireError(
                .forbidden, "\(member): only the page of the set-up has it, while there is no hub.conf", ref: ref)
        }
        let remedy =
            endpoint.isRemote
            ? "only a program that the hub starts on its own machine can get it"
            : "a plugin needs it in owner of its manifest, and \(OwnerRight.line(rights + [word], of: hello.instance))"
        return WireError(.forbidden, "\(member): \"\(word)\" is the owner's; \(remedy)", ref: ref)
    }

    mutating func receive(_ command: CommandRequest) -> [SessionAction] {
        if let word = deniedWord(of: command) {
            return refuse(ownerOnly("COMMAND", word, ref: command.id))
        }
        guard case .run = command.content else {
            guard commands.contains(command.id) else {
                return refuse(WireError(.field, "COMMAND.id: no command \(command.id) is open", ref: command.id))
            }
            return [.admit(.command(command))]
        }
        guard !commands.contains(command.id) else {
            return refuse(WireError(.field, "COMMAND.id: command \(command.id) is still open", ref: command.id))
        }
        guard commands.count < policy.commands else {
            return refuse(
                WireError(.busy, "COMMAND: \(commands.count) commands of this session are open", ref: command.id))
        }
        commands.append(command.id)
        return [.admit(.command(command))]
    }

    mutating func receive(_ want: WantRequest) -> [SessionAction] {
        guard hello.mode != .check else {
            return refuse(
                WireError(.forbidden, "WANT: a session of mode \"check\" takes no records", want: want.want))
        }
        guard !isStopping else { return refuse(WireError(.stopping, "the hub is stopping", want: want.want)) }
        guard wants.contains(want.want) || wants.count < policy.limits.wants else {
            return refuse(
                WireError(
                    .limit, "WANT: at most \(policy.limits.wants) subscriptions of an instance", closed: false,
                    want: want.want))
        }
        wants.insert(want.want)
        return [.admit(.want(want))]
    }

    mutating func receive(_ report: DeliveryReport) -> [SessionAction] {
        guard wants.contains(report.want) else {
            return refuse(
                WireError(
                    .field, "DONE.want: this session has not asked for it", ref: report.delivery, want: report.want))
        }
        return [.admit(.done(report))]
    }

    mutating func receive(_ message: ClientMessage, of id: Int64) -> [SessionAction] {
        guard !tokens.contains(id) else {
            return refuse(WireError(.field, "\(message.verb.rawValue).id: question \(id) is still open", ref: id))
        }
        guard tokens.count < policy.tokens else {
            return refuse(
                WireError(.busy, "\(message.verb.rawValue): \(tokens.count) questions of tokens are open", ref: id))
        }
        tokens.append(id)
        return [.admit(message)]
    }
}
