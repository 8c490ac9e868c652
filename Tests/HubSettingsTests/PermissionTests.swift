import HubSettings
import HubWire
import Testing

/// The state of types under `grants`, and edits of `grants` in a file.
@Suite struct PermissionTests {
    @Test(
        arguments: [
            (nil, "weight", .granted), (["*"], "weight", .granted), (["*", "!weight"], "weight", .denied),
            (["*", "!bodyMass"], "weight", .denied), (["bodyMass"], "weight", .granted),
            (["heartRate"], "weight", .notDetermined), ([], "weight", .notDetermined), (["!*"], "weight", .denied),
            (["!*", "weight"], "weight", .granted), (["x.acme.*"], "x.acme.mood", .granted),
        ] as [([String]?, String, PermissionState)])
    func `a type is granted, denied or not determined`(written: [String]?, type: String, state: PermissionState) {
        #expect(TypePermissions(written).state(of: type) == state)
    }

    @Test(
        arguments: [
            (nil, "bloodPressure", .granted), (["*", "!bloodPressureSystolic"], "bloodPressure", .denied),
            (["bloodPressureSystolic", "bloodPressureDiastolic"], "bloodPressure", .granted),
            (["bloodPressureSystolic"], "bloodPressure", .notDetermined),
            (["dietaryProtein"], "food", .granted), (["weight"], "food", .notDetermined),
        ] as [([String]?, String, PermissionState)])
    func `R4.61 a correlation follows its members`(written: [String]?, type: String, state: PermissionState) {
        let permissions = TypePermissions(written)
        #expect(permissions.state(of: type) == state)
        let (granted, denied) = (permissions.granted(of: ["*"]), permissions.denied(of: ["*"]))
        let isWithin = (granted.contains("*") || granted.contains(type)) && !denied.contains(type)
        #expect(isWithin == (state == .granted))
    }

    @Test func `a denied type can be granted again, and other types stay unchanged`() {
        for written in [nil, ["*"], ["weight"], ["*", "!stepCount"], ["!*", "weight"]] as [[String]?] {
            var changed = TypePermissions(written)
            let (weight, steps) = (changed.state(of: "weight"), changed.state(of: "stepCount"))
            changed.deny("heartRate")
            #expect(changed.state(of: "heartRate") == .denied)
            changed.allow("heartRate")
            #expect(changed.state(of: "heartRate") == .granted)
            #expect(
                changed.state(of: "weight") == weight && changed.state(of: "stepCount") == steps, "\(written ?? [])")
            changed.deny("*")
            #expect(changed.state(of: "weight") == .denied && changed.written == ["!*"])
            changed.allow("*")
            #expect(changed.state(of: "weight") == .granted && changed.written == ["*"])
        }
    }

    @Test func `there is a line for each type that is requested, granted or denied`() {
        let lines = Permission.all(
            reads: ["*"], TypePermissions(["*", "!heartRate"]), writes: ["bodyMass"], TypePermissions(["stepCount"]))
        #expect(
            lines == [
                Permission(type: "*", read: .granted), Permission(type: "heartRate", read: .denied),
                Permission(type: "stepCount", read: .granted),
                Permission(type: "weight", read: .granted, share: .notDetermined),
            ])
    }

    // MARK: - The file

    @Test(
        arguments: [
            (
                "[plugin.p]\nkind = \"x\"  # why\n\n[person.me]\n",
                "[plugin.p]\nkind = \"x\"  # why\ngrants = { read = [\"weight\"] }\n\n[person.me]\n"
            ),
            (
                "[plugin.p]\n# theirs\ngrants = { write = ['a'] } # all\n",
                "[plugin.p]\n# theirs\ngrants = { write = ['a'], read = [\"weight\"] } # all\n"
            ),
            (
                "[plugin.p]\ngrants = { read = [ \"a\", 'b' ], write = [\"c\"] }",
                "[plugin.p]\ngrants = { read = [\"weight\"], write = [\"c\"] }"
            ),
            ("[plugin.p]\ngrants = {}\n", "[plugin.p]\ngrants = { read = [\"weight\"]}\n"),
            (
                "[plugin.p]\nkind = 'x'\n[plugin.p.grants]  # here\nwrite = []\n",
                "[plugin.p]\nkind = 'x'\n[plugin.p.grants]  # here\nwrite = []\nread = [\"weight\"]\n"
            ),
            (
                "[plugin.p]\ngrants.write = []\n",
                "[plugin.p]\ngrants.read = [\"weight\"]\ngrants.write = []\n"
            ),
            (
                "\u{FEFF}[plugin.\"p\"]\r\ngrants.read = [\"ü\"]\r\n",
                "\u{FEFF}[plugin.\"p\"]\r\ngrants.read = [\"weight\"]\r\n"
            ),
            ("[plugin.p]\r\nkind = 'x'\r\n", "[plugin.p]\r\nkind = 'x'\r\ngrants = { read = [\"weight\"] }\r\n"),
        ])
    func `a list is written in its place, and every other byte of the file is unchanged`(before: String, after: String)
        throws
    {
        var editor = try ConfigurationEditor(before)
        try editor.setGrants("read", of: "p", to: ["weight"])
        #expect(editor.text == after)
        #expect(editor.grants("read", of: "p") == ["weight"])
    }

    @Test(
        arguments: [
            "[plugin.p]\ngrants = { read = [\n  \"a\",  # this one\n  \"b\",\n] }\n",
            "[plugin]\np = { kind = \"x\" }\n", "plugin.p.kind = \"x\"\n",
        ])
    func `an edit that would lose something is refused with the line to write, and the text is unchanged`(text: String)
        throws
    {
        var editor = try ConfigurationEditor(text)
        let refusal = #expect(throws: ConfigurationEditor.EditError.self) {
            try editor.setGrants("read", of: "p", to: ["weight"])
        }
        #expect(refusal?.description.contains("write read = [\"weight\"] there by hand") == true)
        #expect(editor.text == text)
    }

    @Test func `a file that is not TOML, or has no such section, is not changed`() throws {
        #expect(throws: ConfigurationEditor.EditError.self) { try ConfigurationEditor("[plugin.p\n") }
        var other = try ConfigurationEditor("[plugin.q]\n")
        #expect(throws: ConfigurationEditor.EditError.self) { try other.setGrants("read", of: "p", to: []) }
        #expect(other.text == "[plugin.q]\n")
    }

    @Test(
        arguments: [
            ("read = [\"bloodPressure\"]", "name bloodPressureSystolic and bloodPressureDiastolic"),
            ("write = [\"!food\"]", "such as dietaryEnergyConsumed"), ("read = [\"!weight\"]", "begin with \"*\""),
        ])
    func `R4.61 the error for an unsupported grant names a supported one`(list: String, advice: String) {
        let loaded = load("[person.me]\n[plugin.ihealth-hs3]\naddress = \"a\"\ngrants = { \(list) }\n")
        #expect(
            loaded.problems.contains { $0.severity == .error && $0.description.contains(advice) }, "\(loaded.problems)")
    }
}
