import HealthText
import PluginKit

/// A setting of a plugin, or an argument of its commands, as a form field.
struct SettingField: Sendable {
    let declaration: SettingDeclaration
    /// The present value, which may be the default; nil if there is none.
    let value: SettingValue?
    /// The text in the form.
    private(set) var text: String
    /// Whether to remove the stored secret.
    private(set) var isRemoved = false
    /// The form, if several forms have fields of this name; nil for a single form.
    private var form: String?
    private var isArgument = false
    /// The error of this field.
    var fault: String?

    init(_ declaration: SettingDeclaration, _ value: SettingValue?) {
        (self.declaration, self.value) = (declaration, value)
        text = declaration.isSecret || value == declaration.defaultValue ? "" : value.map(Self.text) ?? ""
    }

    /// An argument of a command; a path in it does not give the program access.
    init(argument declaration: SettingDeclaration, of command: String) {
        self.init(declaration, nil, in: command)
        isArgument = true
    }

    /// A setting of which the page has several, such as one for each person.
    init(_ declaration: SettingDeclaration, _ value: SettingValue?, in form: String) {
        self.init(declaration, value)
        self.form = form
    }

    static func all(of description: PluginEntry) -> [SettingField] {
        (description.declarations ?? []).map { SettingField($0, description.settings[$0.name]) }
    }

    private var name: String { "set-\(declaration.name)" }

    /// The id on the page.
    private var id: String { form.map { "\($0)-\(declaration.name)" } ?? name }

    /// Whether it names a path that the program may access; only the owner may change that (Protocol R8.184).
    private var namesPlace: Bool {
        if isArgument { return false }
        if [value, declaration.defaultValue].contains(where: { $0.map { !declaration.places(in: $0).isEmpty } ?? false }
        ) {
            return true
        }
        switch declaration.type {
        case .path, .list(of: .path): return declaration.access != SettingAccess.none
        default: return false
        }
    }

    // MARK: - Reading a form

    /// The field with the text of a form.
    func filled(from form: WebForm) -> SettingField {
        var field = self
        guard !namesPlace, form.has(name) else { return field }
        field.text = form[name] ?? ""
        field.isRemoved = form["remove-\(declaration.name)"] != nil
        return field
    }

    enum Change: Sendable, Equatable { case set(SettingValue), unset }

    /// The change to write; nil if nothing changes.
    var change: Change? {
        if declaration.isSecret {
            if !text.isEmpty { return .set(.string(text)) }
            return isRemoved && value != nil ? .unset : nil
        }
        guard !text.isEmpty else { return value == declaration.defaultValue ? nil : .unset }
        let entered = Self.value(text, declaration.type)
        return entered == value ? nil : .set(entered)
    }

    /// The arguments of a command from a form.
    static func arguments(of command: CommandDeclaration, from form: WebForm) -> [String: SettingValue] {
        let fields = command.arguments.map { SettingField(argument: $0, of: command.name).filled(from: form) }
        let filled = fields.filter { !$0.text.isEmpty }
        return Dictionary(filled.map { ($0.declaration.name, value($0.text, $0.declaration.type)) }) { $1 }
    }

    /// Converts a text to the setting's type; an invalid text stays a text, which the hub refuses with a reason.
    private static func value(_ text: String, _ type: SettingType) -> SettingValue {
        switch type {
        case .integer: Int64(text.trimmed).map(SettingValue.integer) ?? .string(text)
        case .number:
            Int64(text.trimmed).map(SettingValue.integer) ?? Double(text.trimmed).map(SettingValue.number)
                ?? .string(text)
        case .boolean: Bool(text).map(SettingValue.boolean) ?? .string(text)
        case .list(let element):
            .list(
                text.split(whereSeparator: \.isNewline).map(\.trimmed).filter { !$0.isEmpty }.map { value($0, element) }
            )
        default: .string(text)
        }
    }

    static func text(_ value: SettingValue) -> String {
        switch value {
        case .string(let text): text
        case .integer(let number): String(number)
        case .number(let number): String(number)
        case .boolean(let truth): String(truth)
        case .list(let values): values.map(text).joined(separator: "\n")
        case .secret: "<secret>"
        }
    }

    // MARK: - Rendering

    func html(isEnabled: Bool) -> HTML {
        var field = FormField(
            name: name, label: NameWords.text(declaration.name) + (declaration.isRequired ? " (needed)" : ""),
            code: declaration.name.contains("_") ? declaration.name : nil, id: id,
            value: declaration.isSecret ? "" : text, hint: helpText, fault: fault, more: removal)
        guard isEnabled, !namesPlace else {
            if isEnabled { field.hint? += " It names a place of the hub's machine: only hub configure changes it." }
            return field.fixed(value.map { declaration.isSecret ? "set, and not shown" : spoken($0) } ?? "not set")
        }
        switch declaration.type {
        case .boolean: return field.choice(options([("true", "yes"), ("false", "no")]))
        case .choice(let choices): return field.choice(options(choices.map { ($0, $0) }))
        case .list:
            field.hint? += " One a line."
            return field.area()
        case .date: return field.line("date")
        case .timeOfDay: return field.line("time")
        case .integer: return field.line("text", "inputmode=\"numeric\"")
        case .number: return field.line("text", "inputmode=\"decimal\"")
        case .url: return field.line("text", "inputmode=\"url\"")
        default:
            guard declaration.isSecret else { return field.line("text", "spellcheck=\"false\" autocapitalize=\"off\"") }
            let place = value == nil ? "" : "set; stays if this is empty"
            return field.line("password", "autocomplete=\"new-password\" placeholder=\"\(place)\"")
        }
    }

    /// A value in words, if its type has them.
    private func spoken(_ value: SettingValue) -> String {
        switch value {
        case .boolean(let truth): truth ? "yes" : "no"
        default: Self.text(value)
        }
    }

    private var helpText: String {
        let end = declaration.help.hasSuffix(".") ? "" : "."
        // Its field offers all values.
        if declaration.type == .boolean { return declaration.help + end }
        let standard = declaration.defaultValue.flatMap { value in
            let text = Self.text(value).replacing("\n", with: ", ")
            return text.isEmpty ? nil : "; if it is empty: \(text)"
        }
        return "\(declaration.help)\(end) Takes \(declaration.type.expected)\(standard ?? "")."
    }

    private func options(_ choices: [(value: String, label: String)]) -> [FormOption] {
        let standard = declaration.defaultValue.map { value in
            let text = Self.text(value)
            return "as usual: \(choices.first { $0.value == text }?.label ?? text)"
        }
        return [FormOption(value: "", text: standard ?? "not set")]
            + choices.map { FormOption(value: $0.value, text: $0.label) }
    }

    private var removal: HTML {
        guard declaration.isSecret, value != nil, !declaration.isRequired else { return HTML() }
        return """
            <label class="choice"><input type="checkbox" name="remove-\(declaration.name)" value="yes" \
            \("checked", if: isRemoved)> take it out</label>
            """
    }
}

extension StringProtocol {
    /// Without leading and trailing whitespace.
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
