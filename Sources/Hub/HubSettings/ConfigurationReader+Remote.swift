import HubWire

/// Plugins on other machines, and the endpoint that they connect to.
extension ConfigurationReader {
    /// Reads `tcp` and `insecure` of `[hub]` together.
    mutating func endpoint(
        _ values: [String: SettingValue], _ position: (String) -> SourcePosition
    ) -> (tcp: TCPEndpoint?, isInsecure: Bool) {
        let isInsecure = values["insecure"]?.boolean ?? false
        guard let text = values["tcp"]?.string else {
            if isInsecure {
                checker.report(
                    .warning, at: position("insecure"), table: "hub", key: "insecure", found: "true",
                    "has no effect without tcp")
            }
            return (nil, isInsecure)
        }
        guard let tcp = TCPEndpoint(text) else {
            checker.report(
                at: position("tcp"), table: "hub", key: "tcp", found: tomlQuoted(text),
                "expected tcp://ADDRESS:PORT with an address of this machine, not a name, such as \"tcp://0.0.0.0:7788\" or \"tcp://[::]:7788\""
            )
            return (nil, isInsecure)
        }
        if isInsecure, !tcp.isLoopback {
            checker.report(
                at: position("insecure"), table: "hub", key: "insecure", found: "true",
                "only with a loopback address: \(tcp) is reached from other machines, where each client needs a key; remove insecure, or set tcp = \"tcp://127.0.0.1:\(tcp.port)\""
            )
        }
        return (tcp, isInsecure)
    }

    /// Reads `remote` and `feed_port` of an instance; reports `run`, which is only for programs on this machine.
    mutating func readRemote(
        _ instance: inout PluginInstance, _ values: [String: SettingValue], _ common: [Field], table: String
    ) {
        instance.isRemote = values["remote"]?.boolean ?? false
        if instance.isRemote, let run = values["run"]?.string, let place = common.first(where: { $0.name == "run" }) {
            checker.report(
                at: place.entry.position, table: table, key: "run", found: tomlQuoted(run),
                "the hub starts and ends nothing on another machine; remove run, and start the program there (cron, a systemd timer), or remove remote"
            )
        }
        instance.feedPort = values["feed_port"]?.integer.map { Int($0) }
        guard let port = instance.feedPort, let place = common.first(where: { $0.name == "feed_port" }) else { return }
        func report(_ message: String) {
            checker.report(
                at: place.entry.position, table: table, key: "feed_port", found: String(port), message)
        }
        if !instance.isRemote {
            report("is of a plugin on another machine; add remote = true, or remove it")
        } else if port == tcp?.port {
            report("[hub] tcp has this port; choose another")
        } else if let other = feedPorts[port] {
            report("[plugin.\(tomlKey(other))] has this port; each instance has its own")
        }
        feedPorts[port] = instance.name
    }

    /// Reports settings that the hub cannot check, because the program is installed only on another machine.
    mutating func reportRemote(_ instance: PluginInstance, own: [Field], at position: SourcePosition, table: String) {
        for field in own {
            checker.report(
                at: field.entry.position, table: table, key: tomlKey(field.name),
                "the hub cannot check it, for \(instance.executable) is not installed here; write it on the other machine (--settings FILE), or install the program here too"
            )
        }
        if instance.enabled, instance.grants.read == nil, instance.grants.write == nil {
            checker.report(
                at: position, table: table, key: "grants",
                "missing: the hub cannot ask \(instance.executable) for its manifest; list its rights, such as grants = { write = [\"weight\"] }"
            )
        }
        if instance.enabled, tcp == nil {
            checker.report(
                .warning, at: position, table: table, key: "remote", found: "true",
                "nothing comes in until [hub] has tcp, such as tcp = \"tcp://0.0.0.0:7788\"")
        }
    }
}
