import Samples

extension Manifest {
    /// The faults of the manifest, in sentences for the plugin's author that begin with the member; empty if there are none.
    public var faults: [String] {
        var faults: [String] = []
        if !PeerName.isValid(name) { faults.append("name: expected \(PeerName.expected)") }
        if PeerName.reserved.contains(name) {
            faults.append("name: \"\(name)\" is reserved for the hub; choose another")
        }
        faults += protocolFaults + typeFaults
        faults += SettingDeclaration.faults(in: settings)
        for (index, word) in reaches.enumerated() where PluginReach(rawValue: word) == nil {
            let words = PluginReach.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            faults.append("reaches[\(index)]: expected one of \(words), found \"\(word)\"")
        }
        for (index, word) in owner.enumerated() where !OwnerRight.grantable.contains(where: { $0.rawValue == word }) {
            let words = OwnerRight.grantable.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            faults.append("owner[\(index)]: expected one of \(words), found \"\(word)\"")
        }
        if let sink, sink.batchRecords < 1 { faults.append("sink.batchRecords: expected at least 1") }
        if let sink, sink.deliveriesAtOnce < 1 { faults.append("sink.deliveriesAtOnce: expected at least 1") }
        let names = commands.map(\.name)
        for name in Set(names).sorted() where names.count(where: { $0 == name }) > 1 {
            faults.append("command \"\(name)\": it is declared twice")
        }
        for command in commands { faults += command.faults.map { "command \"\(command.name)\": \($0)" } }
        return faults
    }

    private var protocolFaults: [String] {
        guard ProtocolVersion.common(with: protocols) == nil else { return [] }
        let spoken = ProtocolVersion.spoken.map(String.init).joined(separator: " and ")
        return ["protocol: expected a version that this hub speaks, which is \(spoken), found \(protocols)"]
    }

    private var typeFaults: [String] {
        var faults: [String] = []
        for (index, declared) in declares.enumerated() {
            do throws(TypeError) {
                let type = try HealthType(
                    declaring: TypeID(declared.id), kind: declared.kind, unit: declared.unit,
                    aggregation: declared.aggregation)
                _ = try TypeRegistry.standard.registering(type)
            } catch {
                faults.append("declares[\(index)]: \(error)")
            }
        }
        let declared = Set(declares.map(\.id))
        for (index, id) in reads.enumerated() where id != "*" && !declared.contains(id) {
            // A plugin may read types that another one declares; no manifest knows which types there will be.
            if let form = (try? TypeID(id))?.form, form == .vendor || form == .healthConnect { continue }
            if let fault = Self.unknown(id) ?? Self.ungrantable(id) { faults.append("reads[\(index)]: \(fault)") }
        }
        for (index, id) in writes.enumerated() where id != "*" && !declared.contains(id) {
            // Types that only the running plugin knows and then declares.
            if id.hasPrefix("x."), id.hasSuffix(".*"), (try? TypeID(id.dropLast() + "any")) != nil { continue }
            if let fault = Self.unknown(id) ?? Self.ungrantable(id) { faults.append("writes[\(index)]: \(fault)") }
        }
        return faults
    }

    private static func ungrantable(_ id: String) -> String? {
        CorrelationMembers(of: id).map { "\(id) is a correlation, which cannot be requested directly; \($0.advice)" }
    }

    /// The fault of an id that is not a type or another name that the hub resolves; `nil` if it is one.
    private static func unknown(_ id: String) -> String? {
        let registry = TypeRegistry.standard
        if registry.resolve(id) != nil || (try? TypeID(id))?.form == .healthKitIdentifier { return nil }
        let hint = registry.suggestion(for: id).map { "; did you mean \($0)?" } ?? ""
        return "there is no type \"\(id)\" in the registry or in declares\(hint)"
    }
}
